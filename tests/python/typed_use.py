"""Uses of the package for mypy --strict. Only lines with `# error: CODE` are wrong."""
import numpy as np
import torch
from numpy.typing import NDArray

import attnc
import attnc.torch

kernel = attnc.kernel("softmax_causal", set={"shape.head_dim": 8})
array: NDArray[np.float32] = np.zeros((1, 2, 3, 8), "float32")
tensor = torch.zeros(1, 2, 3, 8)

of_arrays: NDArray[np.float32] = kernel(array, array, array, threads=2, out=array)
of_tensors: torch.Tensor = kernel(tensor, tensor, tensor, seed=1)
mixed: NDArray[np.float32] = kernel(array, tensor, tensor, features_wq=array)
formula: torch.Tensor = attnc.attention(tensor, tensor, tensor, weight="s * s", mask={"window": {"left": 3}})
scored: NDArray[np.float32] = attnc.attention(array, array, array, score="s * scale", arrays={"scale": 0.5})
token: NDArray[np.float32] = kernel.state(2, capacity=8).extend(array, array, array, lengths=[1, 1])
pages = attnc.Pages(4, memory=np.zeros(4 * kernel.page_bytes(2), "uint8"))
gradients = kernel.backward(array, array, array, array, array, wanted=("dq",))
of_query: NDArray[np.float32] = gradients.dq
of_weight: NDArray[np.float32] = gradients.dfeatures_wq
masked: torch.Tensor = attnc.attention(tensor, tensor, tensor, tensor > 0, scale=0.3, is_causal=True)
names: str = attnc.list("window")[0]
model: torch.nn.Linear = attnc.torch.replace(torch.nn.Linear(2, 2), "softmax").undo()

kernel(1, 2, 3)  # error: type-var arg-type
kernel(array)  # error: call-arg
kernel(array, array, array, sed="1")  # error: arg-type
kernel(array, array, array, seed="1")  # error: arg-type
of_key: torch.Tensor = gradients.dk  # error: assignment
other: torch.Tensor = kernel(array, array, array)  # error: assignment
attnc.kernel(3)  # error: arg-type
attnc.kernel("softmax", sets={})  # error: call-arg
attnc.attention(array, array, array, wait="s")  # error: call-arg
kernel.state(batch="1")  # error: arg-type
kernel.load_state(None)  # error: arg-type
attnc.Pages(4, memory=b"")  # error: arg-type
attnc.torch.replace(tensor, "softmax")  # error: type-var
