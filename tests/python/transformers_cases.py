"""attn_implementation='attnc': models of transformers give the logits, gradients and tokens of eager attention."""
import os
import warnings

from common import *

os.environ['HF_HUB_OFFLINE'] = '1'

import torch

try:
    import transformers
except ImportError:
    print('skip transformers transformers is not installed')
    print('0 passed, 0 failed, 1 skipped')
    sys.exit(0)

import attnc.transformers
from models import *

transformers.logging.set_verbosity_error()
LIMIT = 1e-4  # of the largest element


def near(one, two, why, limit=LIMIT):
    one, two = one.detach().float(), two.detach().float()
    check(one.shape == two.shape, '%s: shapes %s and %s' % (why, one.shape, two.shape))
    check(bool(torch.isfinite(two).all()), '%s: not finite' % why)
    apart = float((one - two).abs().max() / one.abs().max().clamp(min=1e-9))
    check(apart <= limit, '%s: they differ by %g of the largest' % (why, apart))


def compare(name, padding, gradients=True, **changes):
    eager, ours = (model_of(name, kind, **changes) for kind in ('eager', 'attnc'))
    given = inputs(name, padding)
    one, of_one = outputs(eager, name, given, gradients)
    two, of_two = outputs(ours, name, given, gradients)
    near(one, two, '%s, padding %s' % (name, padding))
    check(of_one.keys() == of_two.keys(), '%s: other gradients' % name)
    largest = max((float(g.abs().max()) for g in of_one.values()), default=0)
    for key, gradient in of_one.items():
        apart = float((gradient - of_two[key]).abs().max()) / largest
        check(apart <= LIMIT, '%s, padding %s: gradients of %s differ by %g of the largest' % (name, padding, key, apart))


def compares(name):
    def made(folder):
        for padding in (None,) if name in ('ViT', 'Whisper') else (None, 'left', 'right'):
            compare(name, padding)
        if name in ('ViT', 'Bert'):
            return
        eager, ours = model_of(name), model_of(name, 'attnc')
        for padding in (None, 'left'):
            given = inputs(name, padding)
            check(bool((tokens(eager, given) == tokens(ours, given)).all()), '%s: other tokens, padding %s' % (name, padding))
    made.__name__ = name
    return case(made)


for _name in MODELS:
    if _name not in BYPASSING:
        compares(_name)


@case
def padding_with_gaps(folder):
    given = dict(inputs('Llama', 'left'))
    given['attention_mask'][1, 6] = given['attention_mask'][2, 8] = 0
    eager, ours = model_of('Llama'), model_of('Llama', 'attnc')
    near(outputs(eager, 'Llama', given)[0], outputs(ours, 'Llama', given)[0], 'gaps')


@case
def packed(folder):
    positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6], [0, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8]])
    for name in 'Llama', 'Mistral':
        for gradients in False, True:
            given = {'input_ids': ids(2), 'position_ids': positions, 'use_cache': False}
            one, two = (outputs(model_of(name, kind), name, given, gradients) for kind in ('eager', 'attnc'))
            near(one[0], two[0], name)


@case
def masks_of_callers(folder):
    """A mask [B, 1, n, n] given by the caller, as truth values or added to logits."""
    draws = torch.rand(3, 1, 11, 11, generator=torch.Generator().manual_seed(5)) < 0.6
    draws |= torch.eye(11, dtype=torch.bool)
    added = torch.where(draws, 0.0, torch.finfo(torch.float32).min)
    for mask in draws, added, torch.where(draws, 0.5, -float('inf')):
        wanted = added if mask.dtype == torch.bool else mask
        one = outputs(model_of('Llama'), 'Llama', {'input_ids': ids(), 'attention_mask': wanted})
        two = outputs(model_of('Llama', 'attnc'), 'Llama', {'input_ids': ids(), 'attention_mask': mask})
        near(one[0], two[0], 'mask of %s' % mask.dtype)


@case
def static_caches(folder):
    """Static caches have allocated keys and a position; caches of transformers with a window drop keys."""
    for name in 'Llama', 'Mistral', 'Gemma2', 'GptOss':
        eager, ours = model_of(name), model_of(name, 'attnc')
        for padding in None, 'left':
            given = inputs(name, padding)
            wanted = tokens(eager, given)
            for kind in 'static', 'dynamic':
                more = {'disable_compile': True} if kind == 'static' else {}
                got = tokens(ours, given, cache_implementation=kind, **more)
                check(bool((wanted == got).all()), '%s, %s, padding %s' % (name, kind, padding))


@case
def beams_and_assistants(folder):
    for name in 'Llama', 'Mistral':
        eager, ours = model_of(name), model_of(name, 'attnc')
        for more in {'num_beams': 3}, {'prompt_lookup_num_tokens': 3}:
            given = inputs(name) if 'num_beams' in more else {'input_ids': ids(1)}
            check(bool((tokens(eager, given, **more) == tokens(ours, given, **more)).all()), '%s with %s' % (name, more))


@case
def weights_are_refused_by_name(folder):
    eager, ours = model_of('Llama'), model_of('Llama', 'attnc')
    with warnings.catch_warnings(record=True) as said, torch.no_grad():
        warnings.simplefilter('always')
        made = ours(**inputs('Llama', 'left'), output_attentions=True)
    check('LlamaAttention computes its attention by PyTorch: kernels do not return the attention weights' in str(said[0].message),
          str(said[0].message))
    wanted = eager(**inputs('Llama', 'left'), output_attentions=True)
    near(kept('Llama', inputs('Llama', 'left'), wanted.logits), kept('Llama', inputs('Llama', 'left'), made.logits), 'logits')


@case
def narrow_types(folder):
    """As near to f32 as sdpa is."""
    for name in 'Llama', 'Gemma2', 'GptOss':
        given = inputs(name, 'left')
        wanted = outputs(model_of(name), name, given)[0]
        for dtype in torch.bfloat16, torch.float16:
            other = 'sdpa' if name == 'Llama' else 'eager'
            apart = [float((outputs(model_of(name, kind).to(dtype), name, given)[0].float() - wanted).abs().mean())
                     for kind in ('attnc', other)]
            check(apart[0] <= 1.25 * apart[1], '%s in %s: %g from f32, %s %g' % (name, dtype, apart[0], other, apart[1]))


@case
def autocast(folder):
    given = inputs('Llama', 'left')
    with torch.autocast('cpu', torch.bfloat16):
        one, of_one = outputs(model_of('Llama', 'sdpa'), 'Llama', given, True)
        two, of_two = outputs(model_of('Llama', 'attnc'), 'Llama', given, True)
    near(one, two, 'logits', 0.03)
    for key, gradient in of_one.items():
        near(gradient, of_two[key], key, 0.08)


@case
def prepare(folder):
    model = model_of('Gemma2', 'attnc', head_dim=12)
    kernels = attnc.transformers.prepare(model)
    check(len(kernels) == 1 and kernels[0].head_dim == 12, 'its kernels: %s' % kernels)
    model.train()
    check(bool(attnc.transformers.prepare(model)[0]._differentiable), 'a kernel without gradients')
    check(len(attnc.transformers.prepare(model_of('ViT', 'attnc'), **inputs('ViT'))) == 1, 'the kernels of ViT')


@case
def one_kernel_for_a_family(folder):
    texts = {kernel._text for name in ('Llama', 'Mistral', 'Qwen3', 'Phi3', 'Gemma3', 'GPT2', 'Bert')
             for kernel in attnc.transformers.prepare(model_of(name, 'attnc'))}
    check(len(texts) == 1, '%d kernels' % len(texts))


if __name__ == '__main__':
    sys.exit(main(__doc__))
