"""Tests attn_implementation='attnc': models of transformers give the logits, gradients and tokens of eager
attention."""
import datetime
import os
import time
import warnings

from common import *

os.environ['HF_HUB_OFFLINE'] = '1'
os.environ['GLOO_SOCKET_IFNAME'] = 'lo'   # the host's name may have no address

import torch

try:
    import transformers
except ImportError:
    print('skip transformers transformers is not installed')
    print('0 passed, 0 failed, 1 skipped')
    sys.exit(0)

import attnc.transformers
from attnc._model_recurrent import with_kernels
from models import *

transformers.logging.set_verbosity_error()
LIMIT = 1e-4  # the maximum difference, relative to the largest element


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
        for padding, count in (None, 8), ('left', 64):
            given = inputs(name, padding)
            same = tokens(eager, given, count) == tokens(ours, given, count)
            check(bool(same.all()), '%s: other tokens, padding %s: %s' % (name, padding, same.tolist()))
    made.__name__ = name
    return case(made)


for _name in MODELS:
    if _name != 'Mamba2': compares(_name)  # it has no attention


# Models whose layers choose keys with an indexer, and what small models need in addition to SMALL.
SMALL = dict(
    vocab_size=160, hidden_size=64, intermediate_size=64, moe_intermediate_size=32, num_hidden_layers=3, num_attention_heads=4,
    num_key_value_heads=4, n_routed_experts=4, num_local_experts=4, num_experts=4, num_experts_per_tok=2, kv_lora_rank=32,
    q_lora_rank=32, qk_rope_head_dim=16, v_head_dim=16, qk_nope_head_dim=16, n_group=1, topk_group=1, index_topk=8,
    index_head_dim=32, index_n_heads=2, first_k_dense_replace=1, shared_intermediate_size=32, dense_intermediate_size=64,
    shared_expert_intermediate_size=32, shared_experts_intermediate_size=32, pad_token_id=0, bos_token_id=1, eos_token_id=2)
INDEXED = {
    'axk2': {}, 'deepseek_v32': {}, 'dots3_note': {}, 'glm_moe_dsa': {}, 'hy_v4': {}, 'mistral_large4': {},
    'hy_v4_vl': {'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000.0, 'mrope_section': [4, 2, 2]}},
    'deepseek_v4': dict(num_key_value_heads=1, head_dim=32, o_groups=2, o_lora_rank=16, sliding_window=8, index_topk=2, hc_mult=2,
                        num_hidden_layers=4, partial_rotary_factor=0.5),
    'glm5_next': dict(qk_rope_head_dim=0, linear_head_dim=16, linear_num_heads=4, hc_mult=2, index_kpool=4, num_hidden_layers=4),
    'minimax_m3_vl': dict(num_key_value_heads=2, head_dim=32, rotary_dim=16, index_block_size=4, index_topk_blocks=3,
                          index_local_blocks=1, layer_types=['full_attention', 'minimax_m3_sparse', 'minimax_m3_sparse']),
    'qwen4_exp': dict(num_key_value_heads=2, head_dim=32, linear_key_head_dim=16, linear_value_head_dim=16, linear_num_key_heads=2,
                      linear_num_value_heads=4, hc_lowrank=16, hc_count=2, indexer_n_heads=2, indexer_kv_heads=1,
                      indexer_head_dim=32, indexer_budget=12, indexer_compress_ratio=4, ngram_vocab_size_base=1000,
                      split_ngram_parts=4, heads_per_ngram=2, num_hidden_layers=4),
}


def indexed(name, implementation, **changes):
    """Returns a small model of text with large random weights, so that the choice of keys matters."""
    import importlib
    at = 'transformers.models.%s.%%s_%s' % (name, name)
    configs, module = (vars(importlib.import_module(at % of)) for of in ('configuration', 'modeling'))
    kinds = [kind for kind in configs.values() if isinstance(kind, type) and kind.__module__ == at % 'configuration']
    kind = sorted(kinds, key=lambda kind: 2 * ('Text' in kind.__name__) - ('Vision' in kind.__name__) - ('Audio' in kind.__name__))[-1]
    config = kind(**{key: value for key, value in {**SMALL, **INDEXED[name], **changes}.items() if hasattr(kind, key)})
    stem = kind.__name__.replace('Config', '')
    model = (module.get(stem + 'ForCausalLM') or module[stem + 'Model'])._from_config(config, attn_implementation=implementation).eval()
    torch.manual_seed(1)
    for key, p in model.named_parameters():
        with torch.no_grad(): p.fill_(1) if 'norm' in key and p.dim() == 1 else p.normal_(0, 0.08 if p.dim() > 1 else 0.02)
    return model


def chooses_keys(name):
    def made(folder):
        eager, ours = (indexed(name, kind) for kind in ('eager', 'attnc'))
        ours.load_state_dict(eager.state_dict())   # the state has buffers, too
        torch.manual_seed(3)
        given = torch.randint(3, 150, (2, 30))
        kept = torch.ones_like(given)
        with torch.no_grad():
            wanted = eager(input_ids=given, attention_mask=kept, use_cache=False)[0]
            near(wanted, ours(input_ids=given, attention_mask=kept, use_cache=False)[0], 'logits')
            if name in ('deepseek_v32', 'minimax_m3_vl'):
                every = indexed(name, 'eager', index_topk=100, index_topk_blocks=100)
                every.load_state_dict(eager.state_dict())
                apart = (every(input_ids=given, attention_mask=kept, use_cache=False)[0] - wanted).abs().max() / wanted.abs().max()
                check(float(apart) > 1e-2, 'the choice changes logits by %g of the largest only' % apart)
            if name != 'minimax_m3_vl':   # its indexer reads padding, whose rows eager attention fills with means of all values
                kept[0, :7] = 0
                one, two = (model(input_ids=given, attention_mask=kept, use_cache=False)[0] for model in (eager, ours))
                near(one[kept.bool()], two[kept.bool()], 'logits with padding')
            caches = [None, None]
            for ids in given[:, :20], *given[:, 20:24].split(1, 1):
                done = [model(input_ids=ids, past_key_values=cache, use_cache=True) for model, cache in zip((eager, ours), caches)]
                caches = [x.get('past_key_values', None) or x.cache for x in done]
                near(done[0][0], done[1][0], 'logits of tokens')
    made.__name__ = 'indexer_' + name
    return case(made)


for _name in INDEXED:
    if hasattr(transformers.models, _name): chooses_keys(_name)


@case
def caches_are_copied(folder):
    """Tokens are appended in place, so a copy needs its own memory."""
    import copy
    import pickle
    k = torch.randn(2, 2, 9, 8)
    for how in copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)):
        cache = attnc.transformers.Cache()
        cache.update(k[:, :, :5], -k[:, :, :5], 0)
        for other in how(cache), how(cache.layers[0]):
            layer = getattr(other, 'layers', [other])[0]
            layer.update(k[:, :, 5:], -k[:, :, 5:])
            cache.layers[0].keys.zero_()
            check(torch.equal(layer.keys, k) and torch.equal(layer.values, -k), 'a copy shares memory')
            check(cache.get_seq_length() == 5 and not cache.layers[0].keys.any(), 'a copy changes the original')
            cache.layers[0].keys.copy_(k[:, :, :5])


@case
def layers_repeat_a_call(folder):
    """Layers that share a mask and a bias look for their kernel once. A changed bias, other sinks and gradients count."""
    from attnc import _model_attention as ways
    from attnc._model_mask import Mask

    q, k, v = torch.randn(2, 4, 5, 16), torch.randn(2, 2, 9, 16), torch.randn(2, 2, 9, 16)
    looked, find = [], ways._kernel_for
    ways._kernel_for = lambda *given: looked.append(given) or find(*given)
    module = torch.nn.Module()
    module.is_causal = False
    try:
        for n, (of_mask, bias, sinks) in enumerate((
                ((4, 6, 0), torch.randn(1, 4, 5, 9), 0), (None, None, 0), ((), None, 2),
                ((4, 9, 0), torch.randn(2, 1, 1, 9), 1))):
            for grad in torch.inference_mode, torch.no_grad, torch.enable_grad:
                with grad():
                    mask = None if of_mask is None else Mask(2, 5, 9, *of_mask)
                    before, all_sinks = len(looked), [torch.randn(4) if sinks else None for _ in range(3)]
                    for layer, sink in enumerate(all_sinks):
                        if layer == 2 and bias is not None:
                            bias.mul_(2)
                        wanted = ways.plainly(q, k, v, mask or Mask(2, 5, 9), 0.25, None, sink, bias, 0)[0]
                        near(wanted, ways.attention(module, q, k, v, mask, s_aux=sink, position_bias=bias)[0],
                             'call %d, layer %d' % (n, layer))
                    check(len(looked) - before <= 1 + (bias is not None), 'call %d: %d kernels' % (n, len(looked) - before))
            leaf = q.clone().requires_grad_()
            check(ways.attention(module, leaf, k, v, mask, s_aux=sink, position_bias=bias)[0].requires_grad, 'no gradient')
    finally:
        ways._kernel_for = find


@case
def convolutions(folder):
    """The replaced convolutions give the results, states and gradients of transformers', for one token and many."""
    from transformers.models.qwen3_next import modeling_qwen3_next as qwen

    torch.manual_seed(0)

    whole, update = with_kernels(qwen).causal_conv1d_fn, with_kernels(qwen).causal_conv1d_update
    for dtype, limit in (torch.float32, 1e-6), (torch.bfloat16, 0.01):
        weight, bias = (torch.randn(6, 4, dtype=dtype), torch.randn(6, dtype=dtype))
        for n, with_bias, activation in (1, True, 'silu'), (3, False, None), (16, True, None), (37, False, 'silu'):
            x = torch.randn(2, n, 6).to(dtype).transpose(1, 2)
            words = weight, bias if with_bias else None, activation
            near(whole.__wrapped__(x, *words), whole(x, *words), '%d tokens' % n, limit)
            sums = []
            for function in whole.__wrapped__, whole:
                leaves = [a.detach().clone().requires_grad_() for a in (x, weight)]
                made = function(leaves[0], leaves[1], *words[1:])
                sums.append(torch.autograd.grad((made * torch.linspace(-1, 1, n).to(dtype)).sum(), leaves))
            for one, two in zip(*sums):
                near(one, two, 'gradients of %d tokens' % n, limit)
            for width in 3, 4, 6:
                states = [torch.arange(12. * width).view(2, 6, width).to(dtype) / 20 for _ in range(2)]
                token = x[..., :1]
                near(update.__wrapped__(token, states[0], *words), update(token, states[1], *words), 'a token', limit)
                check(torch.equal(*states), 'another state')
        graph = torch.compile(whole, fullgraph=True, backend='aot_eager')
        near(whole(x, *words), graph(x, *words), 'compiled', limit)


@case
def models_that_are_out_of_reach(folder):
    config = transformers.GPTNeoConfig(vocab_size=100, hidden_size=32, num_layers=1, num_heads=4, attention_types=[[['global'], 1]])
    config._attn_implementation = 'eager'
    neo = transformers.GPTNeoModel(config)
    config._attn_implementation = 'attnc'
    refuses(lambda: neo(ids()), ValueError, 'gpt_neo: transformers computes the attention of this model in separate code, …')
    refuses(lambda: model_of('Falcon', 'attnc', alibi=True)(ids()), AttributeError,
            "the mask of attn_implementation='attnc' has no 'dtype', …")


def agree(wanted, got, inputs, why, limit=LIMIT):
    """Compares (out, state) of two functions, and the gradients of the inputs."""
    made = []
    for out, state in wanted, got:
        sums = [(a.float() * torch.linspace(-1, 1, a.numel()).view_as(a)).sum() for a in (out, state)]
        made.append([a.detach().float() for a in (out, state, *torch.autograd.grad(sum(sums), inputs))])
    for n, (one, two) in enumerate(zip(*made)):
        near(one, two, '%s, array %d' % (why, n), limit)


def needing(*arrays):
    return [a.requires_grad_() for a in arrays]


@case
def delta_rules(folder):
    """Tests the replaced functions of Qwen3-Next and Kimi Linear, and their gradients, with and without a first state,
    and with grouped heads."""
    from transformers.models.kimi_linear import modeling_kimi_linear as kimi
    from transformers.models.qwen3_next import modeling_qwen3_next as qwen

    for module, name, heads in (qwen, 'torch_chunk_gated_delta_rule', 2), (kimi, 'chunk_kimi_delta_attention', 4):
        ours = getattr(with_kernels(module), name)
        torch.manual_seed(0)
        gates = (2, 150, 4) if heads == 2 else (2, 150, 4, 8)
        query, key, value = torch.randn(2, 150, heads, 8), torch.randn(2, 150, heads, 8) / 4, torch.randn(2, 150, 4, 6)
        rate, gate, state = torch.rand(2, 150, 4), -torch.rand(gates), torch.randn(2, 4, 8, 6)
        for dtype, limit in (torch.float32, LIMIT), (torch.bfloat16, 0.02):
            arrays = needing(*(a.to(dtype).clone() for a in (query, key, value)), gate.clone(), rate.clone())
            for first in None, state.clone().requires_grad_():
                for normalises in (True, False) if WHOLE or dtype == torch.float32 else (first is None,):
                    more = dict(initial_state=first, output_final_state=True, use_qk_l2norm_in_kernel=normalises)
                    inputs = arrays if first is None else [*arrays, first]
                    agree(ours.__wrapped__(*arrays, **more), ours(*arrays, **more), inputs, name, limit)
                    if first is not None and dtype == torch.float32 and (WHOLE or normalises):
                        graph = torch.compile(ours, fullgraph=True, backend='aot_eager')
                        agree(ours(*arrays, **more), graph(*arrays, **more), inputs, name + ' compiled', 1e-6)


@case
def state_space_model(folder):
    """Tests the replaced function of Mamba-2, and its gradients."""
    from transformers.models.mamba2 import modeling_mamba2 as modeling

    model = model_of('Mamba2', num_hidden_layers=1)
    long = {'input_ids': ids(2, 150)}
    wanted, expected = outputs(model, 'Mamba2', long, True), tokens(model, long)
    check(attnc.transformers.prepare(model).layers == ['backbone.layers.0.mixer'], 'its layers')
    ours = with_kernels(modeling).mamba2_chunk_scan
    got = outputs(model, 'Mamba2', long, True)
    near(wanted[0], got[0], 'logits')
    for name, gradient in wanted[1].items():
        near(gradient, got[1][name], name, 1e-3)
    check(bool((expected == tokens(model, long)).all()), 'other tokens')
    torch.manual_seed(0)
    arrays = needing(torch.randn(2, 150, 4, 6), torch.randn(2, 150, 4), -torch.rand(4) - 0.1, torch.randn(2, 150, 2, 8),
                     torch.randn(2, 150, 2, 8))
    skip, bias, state = needing(torch.randn(4), torch.randn(4), torch.randn(2, 4, 6, 8))
    for first in None, state:
        more = dict(D=skip, dt_bias=bias, initial_states=first, dt_softplus=True, return_final_states=True)
        inputs = [*arrays, skip, bias] if first is None else [*arrays, skip, bias, state]
        agree(ours.__wrapped__(*arrays, 32, **more), ours(*arrays, 32, **more), inputs, 'scan')


@case
def recurrences_without_a_compiler(folder):
    """PyTorch computes a prompt if there is neither a kernel nor a C compiler."""
    from attnc import _model_recurrent
    from transformers.models.qwen3_next import modeling_qwen3_next as qwen

    def fails(_):
        raise attnc.CompilerError('no C compiler found')
    rule = with_kernels(qwen).torch_chunk_gated_delta_rule
    before, _model_recurrent.kernel_of = _model_recurrent.kernel_of, fails
    try:
        torch.manual_seed(0)
        given = torch.randn(1, 130, 2, 10), torch.randn(1, 130, 2, 10), torch.randn(1, 130, 2, 6)
        given += -torch.rand(1, 130, 2), torch.rand(1, 130, 2)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter('always')
            for _ in range(2):
                made = rule(*given)[0]
        check(torch.equal(made, qwen.torch_chunk_gated_delta_rule(*given)[0]), 'another result')
        check([str(w.message) for w in said] == [
            'attnc.transformers: PyTorch computes the recurrence, because no C compiler found'], str(said))
    finally:
        _model_recurrent.kernel_of = before
    os.environ['ATTNC_CFLAGS'] = '-O1'  # with another environment, there may be a C compiler
    try:
        check(not torch.equal(made, rule(*given)[0]), 'PyTorch computes it still')
    finally:
        del os.environ['ATTNC_CFLAGS']


@case
def single_tokens(folder):
    """Tests the replaced functions for one token of Qwen3-Next, Kimi Linear and Mamba-2, which need a state."""
    from transformers.models.kimi_linear import modeling_kimi_linear as kimi
    from transformers.models.mamba2 import modeling_mamba2 as mamba
    from transformers.models.qwen3_next import modeling_qwen3_next as qwen

    from attnc import _model_token

    torch.manual_seed(0)
    for module, name, heads, gates in (qwen, 'torch_recurrent_gated_delta_rule', 2, ()), (
            kimi, 'recurrent_kimi_delta_attention', 4, (8,)):
        ours, state = getattr(with_kernels(module), name), torch.randn(2, 4, 8, 6)
        for dtype, normalises in (torch.float32, True), (torch.float32, False), (torch.bfloat16, True):
            given = [torch.randn(shape).to(dtype) for shape in ((2, 1, heads, 8), (2, 1, heads, 8), (2, 1, 4, 6))]
            given += [-torch.rand(2, 1, 4, *gates), torch.rand(2, 1, 4)]
            words, before = dict(output_final_state=True, use_qk_l2norm_in_kernel=normalises), state.clone()
            right = ours.__wrapped__(*given, initial_state=state, **words)
            made = _model_token.delta(*given, initial_state=state, by_element=bool(gates), **words)
            check(made[0].dtype == dtype and torch.equal(state, before), name + ' changes its arguments')
            near(right[0].float(), made[0].float(), name, 1e-5 if dtype == torch.float32 else 0.01)
            near(right[1], made[1], name + ', state', 1e-5)
            state.requires_grad_()
            check(ours(*given, initial_state=state, **words)[1].requires_grad, name + ' has no gradient')
            state.requires_grad_(False)
    ours = with_kernels(mamba).mamba2_selective_state_update
    given = [torch.randn(2, 4, 6), torch.randn(2, 4, 1).expand(2, 4, 6), (-torch.rand(4, 1, 1)).expand(4, 6, 8),
             torch.randn(2, 2, 8), torch.randn(2, 2, 8)]
    more = dict(D=torch.randn(4, 1).expand(4, 6), dt_bias=torch.randn(4, 1).expand(4, 6), dt_softplus=True)
    states = [state := torch.randn(2, 4, 6, 8), state.clone()]
    right, made = (f(s, *given, z=torch.ones(2, 4, 6), **more)
                   for f, s in zip((ours.__wrapped__, _model_token.space), states))
    near(right, made, 'Mamba-2', 1e-5)
    near(*states, 'Mamba-2, state', 1e-5)


@case
def models_with_recurrences(folder):
    """Prompts that are long enough for kernels: logits, gradients, and tokens after the prompt."""
    for name in 'Qwen3Next', 'KimiLinear':
        long, made = {'input_ids': ids(2, 150)}, []
        for kind in 'eager', 'attnc':
            model = model_of(name, kind)
            made.append((*outputs(model, name, {**long, 'use_cache': False}, True), tokens(model, long, 16)))
        check(not torch.equal(made[0][0], made[1][0]), name + ' uses no kernel')
        near(made[0][0], made[1][0], name)
        largest = max(float(g.abs().max()) for g in made[0][1].values())
        for key, gradient in made[0][1].items():
            apart = float((gradient - made[1][1][key]).abs().max()) / largest
            check(apart <= LIMIT, '%s: gradients of %s differ by %g of the largest' % (name, key, apart))
        check(bool((made[0][2] == made[1][2]).all()), name + ': other tokens')


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
    """Tests a mask [B, 1, n, n] that the caller gives, as truth values or as numbers that are added to logits."""
    draws = torch.rand(3, 1, 11, 11, generator=torch.Generator().manual_seed(5)) < 0.6
    draws |= torch.eye(11, dtype=torch.bool)
    added = torch.where(draws, 0.0, torch.finfo(torch.float32).min)
    for mask in draws, added, torch.where(draws, 0.5, -float('inf')):
        wanted = added if mask.dtype == torch.bool else mask
        one = outputs(model_of('Llama'), 'Llama', {'input_ids': ids(), 'attention_mask': wanted})
        two = outputs(model_of('Llama', 'attnc'), 'Llama', {'input_ids': ids(), 'attention_mask': mask})
        near(one[0], two[0], 'mask of %s' % mask.dtype)


@case
def growing_keys(folder):
    """Tests the layouts that keys have in caches: joined tensors, and the beginning of a larger tensor, whose rows are
    next to each other or not. The number of keys grows from 1."""
    from attnc._model_attention import attention, plainly
    from attnc._model_mask import Mask
    torch.manual_seed(0)
    query, room = torch.randn(1, 4, 1, 16), torch.randn(2, 1, 2, 9, 16)
    apart = room.transpose(2, 3).contiguous().transpose(2, 3)
    layouts = [lambda n: room[..., :n, :].contiguous(), lambda n: room[..., :n, :], lambda n: apart[..., :n, :],
               lambda n: room[..., :1, :].expand(2, 1, 2, n, 16)]
    for keys in [layouts[n % 4] for n in range(9)] + layouts:
        for n in 1, 2, 3, 9, 1:
            k, v = keys(n)
            right = plainly(query, k, v, Mask(1, 1, n), 0.25, None, None, None, 0)[0]
            near(right, attention(None, query, k, v, None, scaling=0.25)[0], '%d keys, strides %s' % (n, k.stride()))


@case
def static_caches(folder):
    """A static cache has allocated keys and a position. A cache with a window drops keys."""
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
def caches(folder):
    """Tests attnc.transformers.Cache with beams, assistants, windows and padding. Appending a token does not copy
    the stored tokens."""
    for name in 'Llama', 'Mistral', 'Gemma2', 'Gemma3', 'GptOss', 'Qwen3Next':
        eager, ours = model_of(name), model_of(name, 'attnc')
        for more in {}, {'num_beams': 3}, {'prompt_lookup_num_tokens': 3}:
            if name == 'Qwen3Next' and more:
                continue
            given = {'input_ids': ids(1)} if 'prompt_lookup_num_tokens' in more else inputs(name, 'left')
            cache = attnc.transformers.Cache(ours.config)
            got = tokens(ours, given, 14, cache=cache, **more)
            check(bool((tokens(eager, given, 14, **more) == got).all()), '%s with %s' % (name, more))
    cache, model = attnc.transformers.Cache(), model_of('Llama', 'attnc')
    with torch.no_grad():
        model(ids(), cache=cache)
        before = cache.layers[0].keys.data_ptr()
        for n in range(20):
            model(ids(3, 1, n), cache=cache)
    check(cache.layers[0].keys.data_ptr() == before and cache.get_seq_length() == 31, 'the keys have moved')
    cache.crop(-5)
    with torch.no_grad():
        model(ids(3, 1), cache=cache)
    check(cache.layers[0].keys.data_ptr() == before and cache.get_seq_length() == 27, 'the keys have moved after crop()')


@case
def arrays_that_grow(folder):
    """The mask of a sequence with a gap is an array, whose strides change with each token."""
    given = inputs('Llama', 'left')
    given['attention_mask'][1, 6] = given['attention_mask'][2, 8] = 0
    eager, ours = model_of('Llama'), model_of('Llama', 'attnc')
    made = {'input_ids': ids(3, 14, 3)}
    for model, cache in (eager, transformers.DynamicCache()), (ours, attnc.transformers.Cache()):
        with torch.no_grad():
            model(**given, cache=cache)
            mask, logits = given['attention_mask'], []
            for n in range(14):
                mask = torch.cat([mask, torch.ones(3, 1, dtype=mask.dtype)], 1)
                logits.append(model(made['input_ids'][:, n:n + 1], attention_mask=mask, cache=cache).logits)
        made[model] = torch.cat(logits, 1)
    near(made[eager], made[ours], 'logits after a gap')


@case
def caches_of_pairs(folder):
    """Cache(config) of a model with an encoder and a decoder stores both kinds of attention, of all layers of a decoder
    that has more of them than the encoder. transformers cannot store them, so the right tokens come from no cache."""
    for name, changes in ('T5', {'num_decoder_layers': 3}), ('Bart', {'decoder_layers': 3}), ('Marian', {}), (
            'T5Gemma', {}), ('Whisper', {'decoder_layers': 2}):
        eager, ours = model_of(name, **changes), model_of(name, 'attnc', **changes)
        for padding, word, more in (None, 'cache', {}), ('left', 'past_key_values', {'num_beams': 3}), ('right', 'cache', {}):
            if name == 'Whisper' and padding == 'right': continue
            given, cache = inputs(name, padding), attnc.transformers.Cache(ours.config)
            got = tokens(ours, given, 14, **{word: cache}, **more)
            check(bool((tokens(eager, given, 14, use_cache=False, **more) == got).all()), '%s with %s' % (name, more))
            for each in cache.self_attention_cache, cache.cross_attention_cache:
                check(type(each) is attnc.transformers.Cache and each.layers[0].keys.shape[0] == 3 * more.get('num_beams', 1),
                      '%s: another cache' % name)
    refuses(lambda: tokens(model_of('T5', 'attnc'), inputs('T5'), cache=attnc.transformers.Cache()), ValueError,
            'the mask was made for 1 queries and 11 keys, …')


@case
def operations_on_caches(folder):
    """Appends, reorders, crops and repeats at random: a cache has the tokens that a DynamicCache has. Beams copy only
    tokens in which they differ."""
    draws = torch.Generator().manual_seed(2)
    for window in None, 9:
        config = model_of('Mistral', sliding_window=window).config
        for _ in range(20):
            ours, other = attnc.transformers.Cache(config), transformers.DynamicCache(config=config)
            rows = 4
            for _ in range(30):
                what = int(torch.randint(0, 12, (), generator=draws))
                n = int(torch.randint(1, 4, (), generator=draws)) if ours.get_seq_length() else 7
                new = [torch.randn(rows, 2, n, 3, generator=draws) for _ in range(2)]
                index = torch.randint(0, rows, (rows,), generator=draws)
                for one, two in zip(ours.update(*new, 0), other.update(*new, 0)):
                    check(torch.equal(one, two), 'other tokens')
                for cache in ours, other:
                    if what < 8:
                        cache.reorder_cache(index)
                    elif what == 8:
                        cache.batch_select_indices(index)
                    elif what == 9 and window is None:
                        cache.crop(-1)
                    elif what == 10 and rows == 4:
                        cache.batch_repeat_interleave(2)
                    elif what == 11 and cache.get_seq_length() > 40:
                        cache.reset()
                rows *= 2 if what == 10 and rows == 4 else 1
    cache = attnc.transformers.Cache()
    cache.update(torch.randn(1, 2, 50, 3).repeat(3, 1, 1, 1), torch.randn(1, 2, 50, 3).repeat(3, 1, 1, 1), 0)
    cache.reorder_cache(torch.tensor([0, 0, 0]))
    before = cache.layers[0].keys[1, :, :50].fill_(7)
    cache.update(torch.randn(3, 2, 1, 3), torch.randn(3, 2, 1, 3), 0)
    cache.reorder_cache(torch.tensor([2, 0, 1]))
    check(bool((before == 7).all()), 'tokens were copied that beams share')


@case
def weights_are_those_of_eager(folder):
    for name in 'Llama', 'Gemma2', 'GptOss':
        eager, ours = model_of(name), model_of(name, 'attnc')
        given = inputs(name, 'left')
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter('error', RuntimeWarning)
            wanted, made = (model(**given, output_attentions=True) for model in (eager, ours))
        near(kept(name, given, wanted.logits), kept(name, given, made.logits), name + ': logits')
        seen = given['attention_mask'].bool()[:, None, :, None]
        for layer, (one, two) in enumerate(zip(wanted.attentions, made.attentions)):
            near(one * seen, two * seen, '%s: weights of layer %d' % (name, layer))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always')
        learning = ours(**given, output_attentions=True)
    check('computes its attention by PyTorch: kernels return the attention weights' in str(said[0].message), str(said[0].message))
    near(kept(name, given, wanted.logits), kept(name, given, learning.logits), 'logits')


@case
def weights_of_every_type(folder):
    """Calls for weights give those of transformers' own function, also from several threads."""
    import threading
    from attnc._model_attention import attention
    from transformers.models.llama.modeling_llama import eager_attention_forward
    draws, module, calls = torch.Generator().manual_seed(7), torch.nn.Module(), []
    module.num_key_value_groups, module.is_causal = 2, False
    hidden = torch.rand(2, 1, 19, 37, generator=draws) < 0.4
    hidden[..., 0] = False
    # that function computes softmax in float32
    for dtype, limit in (torch.float32, 1e-5), (torch.float64, 1e-6), (torch.float16, 4e-3), (torch.bfloat16, 4e-2):
        q, k, v = (torch.randn(2, heads, n, 8, generator=draws).to(dtype) for heads, n in ((4, 19), (2, 37), (2, 37)))
        added = torch.randn(2, 4, 19, 37, generator=draws).to(dtype).masked_fill(hidden, -torch.inf)
        zeros = torch.zeros(hidden.shape, dtype=dtype).masked_fill(hidden, -torch.inf)
        for theirs, ours in (None, None), (zeros, ~hidden), (added, added):
            wanted = eager_attention_forward(module, q, k, v, theirs, 0.3)
            calls.append((limit, wanted, lambda q=q, k=k, v=v, ours=ours: attention(
                module, q, k, v, ours, scaling=0.3, output_attentions=True)))
    wrong = []
    def run(number):
        for limit, wanted, call in calls[number:] + calls[:number]:
            wrong.extend((number, one.dtype) for one, two in zip(wanted, call())
                         if one.dtype != two.dtype or not torch.allclose(one.double(), two.double(), rtol=0, atol=2 * limit))
    threads = [threading.Thread(target=run, args=(number,)) for number in range(0, 12, 3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    check(not wrong, 'other weights: %s' % wrong)


@case
def narrow_types(folder):
    """The errors of 16-bit models are at most a little larger than those of sdpa."""
    for name in 'Llama', 'Gemma2', 'GptOss':
        given = inputs(name, 'left')
        wanted = outputs(model_of(name), name, given)[0]
        for dtype in torch.bfloat16, torch.float16:
            other = 'sdpa' if name == 'Llama' else 'eager'
            apart = [float((outputs(model_of(name, kind).to(dtype), name, given)[0].float() - wanted).abs().mean())
                     for kind in ('attnc', other)]
            check(apart[0] <= 1.25 * apart[1], '%s in %s: %g from f32, %s %g' % (name, dtype, apart[0], other, apart[1]))


@case
def masks_of_16_bits(folder):
    """In a 16-bit model, kernels read a bias or mask that is added to logits as it is; -inf hides a key."""
    from attnc import _model_attention as ways
    draws = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(2, 4, n, 8, generator=draws) for n in (19, 37, 37))
    bias = torch.randn(1, 4, 19, 37, generator=draws)
    added = torch.zeros(2, 1, 19, 37)
    added[0, :, :, 5:9], added[1, :, :, 20:], added[1, :, 3] = -torch.inf, torch.finfo(torch.bfloat16).min, -torch.inf
    for dtype in torch.bfloat16, torch.float16:
        given = [a.to(dtype) for a in (q, k, v)]
        for more, mask in ({}, added.clamp(min=torch.finfo(dtype).min)), ({'position_bias': bias}, None), (
                {'position_bias': bias}, added):
            narrow = {word: a.to(dtype) for word, a in more.items()}
            wide = {word: a.float() for word, a in narrow.items()}
            of_narrow, of_wide = (None if mask is None else mask.to(dtype).to(kind) for kind in (dtype, torch.float32))
            module = torch.nn.Module()
            module.is_causal = False
            one = ways.attention(module, *given, of_narrow, **narrow)[0]
            sums = None if mask is None else of_wide if not more else (narrow['position_bias'] + of_narrow).float()
            other = ways.attention(module, *given, sums, **({} if mask is not None and more else wide))[0]
            seen = slice(None) if mask is None else [n for n in range(19) if n != 3]
            near(one[:, seen], other[:, seen], str((dtype, list(more))), 0.02)
            check(bool(one.isfinite().all()), 'a row that sees no key')


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
def compiled(folder):
    """torch.compile makes no graph break. Dropout draws what it draws without torch.compile."""
    for name, changes in ('Llama', {'attention_dropout': 0.3}), ('T5', {'num_layers': 1 + WHOLE}), ('GptOss', {}):
        torch._dynamo.reset()
        model, given = model_of(name, 'attnc', **changes), inputs(name, 'left')
        wanted, _ = outputs(model_of(name, **changes), name, given)
        graph = torch.compile(model, fullgraph=True, backend='aot_eager')
        near(wanted, outputs(graph, name, given)[0], name)
        if 'attention_dropout' in changes:
            model.train()
            made = []
            for one in graph, model:
                torch.manual_seed(7)
                made.append(outputs(one, name, given, True))
            near(made[1][0], made[0][0], 'logits with dropout', 1e-6)
            for key, gradient in made[1][1].items():
                near(gradient, made[0][1]['_orig_mod.' + key], key)


@case
def checkpoints(folder):
    """Gradient checkpointing draws the same dropout again."""
    for name, changes in ('Llama', {'attention_dropout': 0.3}), ('Bert', {'attention_probs_dropout_prob': 0.3}):
        model, made = model_of(name, 'attnc', **changes).train(), []
        for _ in range(2):
            torch.manual_seed(3)
            made.append(outputs(model, name, {**inputs(name, 'right'), 'use_cache': False}, True)[1])
            model.gradient_checkpointing_enable()
        for key, gradient in made[0].items():
            near(gradient, made[1][key], '%s: %s' % (name, key), 1e-6)
        torch.manual_seed(4)
        other = outputs(model, name, {**inputs(name, 'right'), 'use_cache': False}, True)[1]
        check(any(bool((other[key] != gradient).any()) for key, gradient in made[0].items()), 'the seed changes nothing')


@case
def trainer(folder):
    """Training with transformers' Trainer reaches the losses of eager attention."""
    losses = []
    for kind in 'eager', 'attnc':
        model = model_of('Llama', kind)
        words = [{'input_ids': row, 'labels': row} for row in ids(8, 11)]
        settings = transformers.TrainingArguments(os.path.join(folder, kind), max_steps=4, per_device_train_batch_size=2,
                                                  logging_steps=1, report_to=[], use_cpu=True, disable_tqdm=True,
                                                  save_strategy='no', learning_rate=1e-2, seed=1)
        run = transformers.Trainer(model, settings, train_dataset=words)
        run.remove_callback(transformers.PrinterCallback)
        run.train()
        losses.append([line['loss'] for line in run.state.log_history if 'loss' in line])
    check(len(losses[0]) == 4, 'losses: %s' % losses)
    check(all(abs(float(a) - float(b)) < 1e-3 for a, b in zip(*losses)), 'losses %s and %s' % tuple(losses))


def _one_of_two(rank, folder):
    torch.set_num_threads(1)
    torch.distributed.init_process_group('gloo', init_method='file://' + os.path.join(folder, 'meet'), rank=rank, world_size=2,
                                         timeout=datetime.timedelta(seconds=60))
    torch.distributed.all_reduce(torch.ones(1))
    open(os.path.join(folder, 'connected'), 'w').close()
    model = model_of('Llama', 'attnc').train()
    wrapped = torch.nn.parallel.DistributedDataParallel(model)
    mine = ids(4)[2 * rank:2 * rank + 2]
    wrapped(input_ids=mine, labels=mine, use_cache=False).loss.backward()
    torch.save([p.grad for p in model.parameters()], os.path.join(folder, 'gradients%d' % rank))
    torch.distributed.barrier()
    os._exit(0)   # The destructor of PyTorch's reducer can wait forever for a thread of gloo that waits for the GIL.


def in_two_processes(function, folder):
    """Calls function(rank, folder) in two processes."""
    started = torch.multiprocessing.start_processes(function, (folder,), nprocs=2, start_method='spawn', join=False)
    end = time.monotonic() + 300
    try:
        while not started.join(timeout=1):
            check(time.monotonic() < end, 'two processes did not end')
    finally:
        for process in started.processes:
            process.kill()


def two_processes(folder):
    """DistributedDataParallel over gloo gives the mean of the gradients of two processes."""
    try:
        in_two_processes(_one_of_two, folder)
    except (Failure, torch.multiprocessing.ProcessRaisedException, torch.multiprocessing.ProcessExitedException) as why:
        if os.path.exists(os.path.join(folder, 'connected')): raise
        raise Skip('gloo does not connect two processes here: ' + str(why).strip().split('\n')[-1])
    made = [torch.load(os.path.join(folder, 'gradients%d' % rank)) for rank in range(2)]
    model = model_of('Llama', 'eager').train()
    model(input_ids=ids(4), labels=ids(4), use_cache=False).loss.backward()
    for (key, p), *each in zip(model.named_parameters(), *made):
        near(p.grad, each[0], key, 1e-3)
        check(bool((each[0] == each[1]).all()), 'the processes differ: ' + key)


if WHOLE: case(two_processes)   # distributed_cases.py wraps a layer in DistributedDataParallel


@case
def prepare(folder):
    model = model_of('Gemma2', 'attnc', head_dim=12)
    kernels = attnc.transformers.prepare(model)
    check(len(kernels) == 1 and kernels[0].head_dim == 12, 'its kernels: %s' % kernels)
    model.train()
    check(bool(attnc.transformers.prepare(model)[0]._variants), 'a kernel without gradients')
    check(len(attnc.transformers.prepare(model_of('ViT', 'attnc'), **inputs('ViT'))) == 1, 'the kernels of ViT')


@case
def one_kernel_for_a_family(folder):
    texts = {kernel._text for name in ('Llama', 'Mistral', 'Qwen3', 'Phi3', 'Gemma3', 'GPT2', 'Bert')
             for kernel in attnc.transformers.prepare(model_of(name, 'attnc'))}
    check(len(texts) == 1, '%d kernels' % len(texts))


if __name__ == '__main__':
    sys.exit(main(__doc__))
