"""Tests models of PyTorch and transformers with replaced attention: the report and the reasons."""
import contextlib
import copy
import io
import os
import pickle

from common import *

os.environ['HF_HUB_OFFLINE'] = '1'

import torch

import attnc.torch

AHEAD = 'the model lets a query see keys that come after it, which the spec does not'
NOT_AHEAD = 'the spec lets a query see keys that come after it, which the model does not'
HIDES = 'the model hides keys that the spec lets a query see'
EAGER = "transformers runs its 'eager' attention, …"
SIZES = dict(vocab_size=100, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4)
HALVES = dict(d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
              encoder_ffn_dim=32, decoder_ffn_dim=32, vocab_size=100)


def model_of(name):
    """Returns a small model with random weights."""
    try:
        import transformers
    except ImportError:
        raise Skip('transformers is not installed')
    torch.manual_seed(0)
    grouped = dict(SIZES, num_key_value_heads=2)
    kind, settings = {
        'Llama': ('LlamaForCausalLM', grouped),
        'Mistral': ('MistralForCausalLM', dict(grouped, sliding_window=8)),
        'Gemma2': ('Gemma2ForCausalLM', dict(grouped, head_dim=8)),
        'GptOss': ('GptOssForCausalLM', dict(grouped, head_dim=8, num_local_experts=2, num_experts_per_tok=1)),
        'Mpt': ('MptForCausalLM', dict(d_model=32, n_heads=4, n_layers=2, vocab_size=100, max_seq_len=64)),
        'Bert': ('BertModel', SIZES),
        'GPT2': ('GPT2LMHeadModel', dict(vocab_size=100, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=1,
                                         eos_token_id=2)),
        'Bart': ('BartModel', dict(HALVES, max_position_embeddings=64)),
        'Whisper': ('WhisperModel', dict(HALVES, num_mel_bins=8, max_source_positions=20, max_target_positions=64,
                                         pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1))}[name]
    return getattr(transformers, kind)(getattr(transformers, name + 'Config')(**settings)).eval()


def ids(n=9):
    return torch.randint(3, 100, (2, n), generator=torch.Generator().manual_seed(1))


def runs(model, name):
    """Returns outputs of a model: for a text, for a text with padding, and for generated tokens."""
    with torch.no_grad():
        if name == 'Whisper':
            sound = torch.randn(2, 8, 40, generator=torch.Generator().manual_seed(2))
            return [model(sound, decoder_input_ids=ids())[0]]
        padding = torch.ones(2, 9, dtype=torch.long)
        padding[0, :3] = 0
        made = [model(ids())[0], model(ids(), attention_mask=padding)[0][:, 3:]]
        if name not in ('Bert', 'Bart'):
            made.append(model.generate(ids(), max_new_tokens=4, do_sample=False, pad_token_id=0, output_logits=True,
                                       return_dict_in_generate=True).logits[-1])
        return made


def same(one, two, limit, why):
    for number, (a, b) in enumerate(zip(one, two)):
        close(a.detach(), b.detach(), limit, '%s: %d' % (why, number))


def quietly(function, *words, **more):
    """Returns the result of the function, and its text on standard error."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        made = function(*words, **more)
    return made, said.getvalue()


def replaced(model, spec, **more):
    return quietly(attnc.torch.replace, model, spec, **more)[0]


def reports(report, replaced_, left):
    check(sorted(report.replaced) == sorted(replaced_), 'replaced are %s' % report.replaced)
    has = {name: left.get(name, '') for name in report.left}
    check(set(report.left) == set(left), 'left are %s' % report.left)
    for name, why in has.items():
        check(report.left[name].startswith(why[:-1]) if why.endswith('…') else report.left[name] == why, '%s is left: %s' % (
            name, report.left[name]))


def each(pattern, layers=2):
    return [pattern % layer for layer in range(layers)]


MODELS = {  # Each value is (spec, replaced modules, {module that stays: reason}).
    'Llama': ('softmax_causal', each('model.layers.%d.self_attn'), {'model.layers.%d.self_attn': HIDES}),
    'Mistral': ({'similarity': 'softmax', 'mask': {'window': {'left': 7}}}, each('model.layers.%d.self_attn'),
                {'model.layers.%d.self_attn': HIDES + '; its mask has one row for all queries…'}),
    'Gemma2': ('softmax_causal', [], {'model.layers.%d.self_attn': EAGER}),
    'GptOss': ('softmax_causal', [], {'model.layers.%d.self_attn': EAGER}),
    'Mpt': ('softmax_causal', [], {'transformer.blocks.%d.attn': EAGER}),
    'Bert': ('softmax', each('encoder.layer.%d.attention.self'), {'encoder.layer.%d.attention.self': HIDES}),
    'GPT2': ('softmax_causal', each('transformer.h.%d.attn'), {'transformer.h.%d.attn': HIDES}),
    'Bart': ('softmax_causal', ['decoder.layers.0.self_attn'],
             {'encoder.layers.0.self_attn': AHEAD, 'decoder.layers.0.encoder_attn': AHEAD}),
    'Whisper': ('softmax_causal', ['decoder.layers.0.self_attn'],
                {'encoder.layers.0.self_attn': AHEAD, 'decoder.layers.0.encoder_attn': AHEAD})}


def a_model_of_transformers(name):
    """Replacing modules does not change the output of a model. The output is also unchanged for a pickled copy, and
    after undo()."""
    spec, names, left = MODELS[name]
    model = model_of(name)
    wanted = runs(model, name)
    report, said = quietly(attnc.torch.replace, model, spec)
    check(report.model is model and said.startswith('attnc: replaced: '), 'says %r' % said)
    made, more = quietly(runs, model, name)
    same(made, wanted, 2e-6, 'replaced')
    reports(report, names, {pattern % layer if '%' in pattern else pattern: why for pattern, why in left.items()
                            for layer in range(2)})
    check(all(word in said + more for word in names), 'does not say what is replaced: %s%s' % (said, more))
    again = pickle.loads(pickle.dumps(model))
    same(quietly(runs, again, name)[0], made, 0, 'a copy')
    check(report.undo() is model and 'forward' not in model.__dict__, 'undo')
    same(runs(model, name), wanted, 0, 'undone')


for _name in MODELS:
    def _one(folder, name=_name):
        a_model_of_transformers(name)
    _one.__name__ = 'transformers_' + _name
    case(_one)


@case
def another_weight_counts(folder):
    """Replaced modules use the spec. Other modules keep the model's attention."""
    model = model_of('Llama')
    wanted = runs(model, 'Llama')
    replaced(model, {'similarity': {'custom': {'weight': '(1 + s) * (1 + s)'}}, 'mask': 'causal'})
    made = quietly(runs, model, 'Llama')[0]
    check((made[0] - wanted[0]).abs().max() > 1e-3, 'another weight changes nothing')
    same(made[1:2], wanted[1:2], 0, 'a text with padding')
    model = model_of('Llama')
    report = replaced(model, 'softmax')
    same(quietly(runs, model, 'Llama')[0][:2], wanted[:2], 0, 'a spec that looks ahead')
    check(set(report.left.values()) == {NOT_AHEAD}, str(report.left))
    report = replaced(model, 'softmax_causal', masks='ignore')   # this replacement takes the place of the first one
    made = quietly(runs, model, 'Llama')[0]
    check(report.left == {} and len(report.replaced) == 2, 'left are %s' % report.left)
    check((made[1] - wanted[1])[0].abs().max() > 1e-3, 'padding is hidden still')
    report.undo()
    same(runs(model, 'Llama'), wanted, 0, 'undone')
    model.train()
    replaced(model, 'softmax_causal')
    quietly(lambda: model(ids(), labels=ids()).loss.backward())
    check(all(p.grad is not None for p in model.parameters()), 'parameters without gradients')


@case
def folded_heads_are_no_positions(folder):
    """transformers may pass heads that share keys as rows of one query. Only the mask shows that."""
    class One(torch.nn.Module):
        def forward(self, q, k, v, mask):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    q, k, v = (torch.from_numpy(a) for a in arrays(H=2, n=2, m=8))
    mask = torch.ones(2, 1, 1, 8, dtype=torch.bool)
    wanted = One()(q, k, v, mask)
    for spec in 'softmax_causal', 'longformer':
        for masks in 'compare', 'ignore':
            model = One()
            report = replaced(model, spec, masks=masks)
            close(quietly(model, q, k, v, mask)[0], wanted, 0, spec)
            check(not report.replaced and len(report.left) == 1, str(report))
    bias = torch.randn(2, 8)
    report = replaced(model, 'softmax')
    close(quietly(model, q, k, v, bias)[0], One()(q, k, v, bias), 0, 'a bias')
    check(report.left == {'': 'the model adds a bias to the inner products'}, str(report.left))
    report = replaced(model, 'softmax_bias')
    quietly(model, q, k, v, None)
    check(report.left == {'': 'the spec needs arrays that calls of the model do not pass: bias'}, str(report.left))
    seen = torch.ones(2, 8, dtype=torch.bool).tril(6)
    for mask in seen, torch.zeros(2, 8).masked_fill(~seen, -torch.inf), torch.zeros(2, 8).masked_fill(
            ~seen, torch.finfo(torch.float32).min):
        report = replaced(model, 'softmax_causal')
        close(quietly(model, q, k, v, mask)[0], One()(q, k, v, mask), 1e-6, "the spec's own mask")
        check(report.replaced == [''], str(report))


@case
def modules_of_pytorch(folder):
    x = torch.randn(2, 9, 32)
    layer = torch.nn.TransformerEncoderLayer(32, 4, 32, dropout=0.0, batch_first=True).eval()
    with torch.no_grad():
        wanted, names, plain = layer(x), set(layer.state_dict()), layer.self_attn
        report = replaced(layer, 'softmax')
        check(report.model is layer and report.replaced == ['self_attn'], str(report))
        close(layer(x), wanted, 1e-5, 'nn.MultiheadAttention, softmax')
        check(set(layer.state_dict()) == names, 'other names in the state_dict')
        close(pickle.loads(pickle.dumps(layer))(x), layer(x), 0, 'a copy through pickle')
        padding = torch.zeros(2, 9, dtype=torch.bool)
        padding[0, 6:] = True
        mask = torch.zeros(9, 9).masked_fill(torch.ones(9, 9, dtype=torch.bool).triu(1), -torch.inf)
        left, right = torch.nn.TransformerEncoderLayer(32, 4, 32, dropout=0.0, batch_first=True), layer
        report.undo()
        check(layer.self_attn is plain, 'undo')
        left.load_state_dict(layer.state_dict())
        for spec, given, why in (('softmax', dict(src_key_padding_mask=padding), HIDES), ('softmax', dict(src_mask=mask), NOT_AHEAD),
                                 ('softmax_causal', {}, AHEAD), ('softmax_causal', dict(src_mask=mask), None)):
            report = replaced(right, spec)
            close(quietly(right, x, **given)[0], left(x, **given), 0 if why else 1e-5, '%s, %s' % (spec, list(given)))
            check(report.left == ({'self_attn': why} if why else {}), str(report))
            report.undo()
        for first, shape in ((True, (2, 9, 32)), (False, (9, 2, 32))):
            old = torch.nn.MultiheadAttention(32, 4, batch_first=first, kdim=16, vdim=8, bias=first)
            inputs = [torch.randn(*shape[:2], size) for size in (32, 16, 8)]
            holder = torch.nn.ModuleList([copy.deepcopy(old)])
            replaced(holder, 'softmax')
            close(holder[0](*inputs)[0], old(*inputs)[0], 1e-5, 'batch_first=%s' % first)
            for average in True, False:
                mine, wanted = (of(*inputs, average_attn_weights=average)[1] for of in (holder[0], old))
                close(mine, wanted, 1e-6, 'need_weights, average %s' % average)
            check(holder[0](*inputs, need_weights=False)[1] is None, 'weights that nobody needs')
            alone = [a[0] if first else a[:, 0] for a in inputs]
            close(holder[0](*alone)[1], old(*alone)[1], 1e-6, 'weights without a batch')
        adds = torch.nn.ModuleList([torch.nn.MultiheadAttention(32, 4, add_zero_attn=True)])
        check(list(replaced(adds, 'softmax').left) == ['0'], 'add_zero_attn')
    learned = torch.nn.Sequential(torch.nn.TransformerEncoderLayer(32, 4, 32, dropout=0.0))
    replaced(learned, 'hedgehog', set={'mask': 'none'})
    learned(x).sum().backward()
    check(dict(learned.named_parameters())['0.self_attn.attention.features_wq'].grad is not None, 'no gradient')
    dropping = torch.nn.TransformerEncoderLayer(32, 4, 32)
    replaced(dropping, 'softmax')
    refuses(lambda: dropping(x), ValueError, 'the model uses dropout on attention weights, which attnc\'s kernels do not have; …')
    refuses(lambda: attnc.torch.replace(torch.nn.Linear(2, 2), 'softmax', masks='maybe'), ValueError,
            "masks is 'maybe'; expected 'compare' or 'ignore'")


@case
def compiled_models(folder):
    """torch.compile makes one graph without breaks. Each call compares its mask with the spec's mask."""
    torch._dynamo.reset()
    model = model_of('Llama')
    padding = torch.ones(2, 9, dtype=torch.long)
    padding[0, :3] = 0
    wanted = [model(ids()).logits, model(ids(), attention_mask=padding).logits[:, 3:]]
    wanted[0].square().sum().backward()
    gradients = [p.grad for p in model.parameters()]
    model.zero_grad()
    replaced(model, 'softmax_causal')
    compiled = torch.compile(model, backend='aot_eager', fullgraph=True)
    made = [compiled(ids()).logits, compiled(ids(), attention_mask=padding).logits[:, 3:]]
    same(made, wanted, 2e-6, 'compiled')
    made[0].square().sum().backward()
    same([p.grad for p in model.parameters()], gradients, 1e-4, 'compiled')
    torch._dynamo.reset()
    # The model reaches `recompile_limit`, so PyTorch runs the last lengths without torch.compile.
    with torch._dynamo.config.patch(recompile_limit=1), torch.no_grad():
        model = model_of('Llama')
        wanted = [model(ids(n)).logits for n in (9, 7, 5, 4)]
        replaced(model, 'softmax_causal')
        compiled = torch.compile(model, backend='eager')
        same(quietly(lambda: [compiled(ids(n)).logits for n in (9, 7, 5, 4)])[0], wanted, 2e-6, 'compiled once')
    torch._dynamo.reset()
    layer = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(32, 4, 32, dropout=0.0), 1 + WHOLE).eval()
    x = torch.randn(9, 2, 32)
    wanted = layer(x)
    replaced(layer, 'softmax')
    close(torch.compile(layer, backend='aot_eager', fullgraph=True)(x).detach(), wanted.detach(), 1e-5, 'of PyTorch')


if __name__ == '__main__':
    sys.exit(main(__doc__))
