"""flex_attention in graphs of torch.compile: an operator whose arguments are functions, like that of PyTorch's own
flex_attention. Dynamo makes graphs of score_mod and mask_mod, and finds the tensors that they capture."""
from __future__ import annotations

from typing import Any, Callable, Optional

from torch._ops import HigherOrderOperator

_NAME = "attnc_flex_attention"


class _Operator(HigherOrderOperator):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(_NAME)  # type: ignore[no-untyped-call]
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)  # a graph contains what it calls


def operator(function: Callable[..., Any]) -> Optional[_Operator]:
    """Returns the operator that calls the function. Returns None with another version of PyTorch, which has no class for
    such calls."""
    try:
        from torch._dynamo.variables import higher_order_ops

        higher_order_ops._hop_name_to_variable_class[_NAME] = higher_order_ops.FlexAttentionHigherOrderVariable
        return _Operator(function)
    except (AttributeError, ImportError, TypeError):
        return None
