#!/usr/bin/env python3
"""Compares attn_implementation='attnc' with 'sdpa' and 'eager' in models of transformers with random weights.

For each model: the time of a prompt, of one more token after it, and how far the logits are from those of eager
attention in float32. The models have two layers, 8 heads of 64 (on 2 heads of keys where the model can) and narrow
feed-forward parts, so that attention takes most of the time. Exit status: 0 done, 1 different results, 2 wrong usage.
"""
import argparse
import gc
import inspect
import os
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
os.environ['HF_HUB_OFFLINE'] = '1'
os.environ.setdefault('KMP_BLOCKTIME', '5')   # as in run.py: threads of one library do not wait on the cores of another
if 'ATTNC' not in os.environ and os.path.exists(os.path.join(ROOT, 'build', 'attnc')):
    os.environ['ATTNC'] = os.path.join(ROOT, 'build', 'attnc')
    sys.path.insert(0, os.path.join(ROOT, 'runtime', 'python'))

import run as peers

BEGIN = '<!-- models: written by tests/peers/models.py --write -->'
SIZES = dict(hidden_size=512, intermediate_size=512, num_hidden_layers=2, num_attention_heads=8, vocab_size=1000)
GROUPED = dict(SIZES, num_key_value_heads=2, head_dim=64)
HALVES = dict(d_model=512, encoder_layers=2, decoder_layers=2, encoder_attention_heads=8, decoder_attention_heads=8,
              encoder_ffn_dim=512, decoder_ffn_dim=512, vocab_size=1000)
ENDS = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)
# {model: (class, settings)}. Positions that a table limits get a table that is long enough.
MODELS = {
    'Llama': ('LlamaForCausalLM', GROUPED),
    'Mistral': ('MistralForCausalLM', dict(GROUPED, sliding_window=1024)),
    'Gemma2': ('Gemma2ForCausalLM', dict(GROUPED, sliding_window=1024)),
    'Gemma3': ('Gemma3ForCausalLM', dict(GROUPED, sliding_window=512, layer_types=['sliding_attention', 'full_attention'])),
    'Qwen3': ('Qwen3ForCausalLM', GROUPED),
    'Phi3': ('Phi3ForCausalLM', {k: v for k, v in GROUPED.items() if k != 'head_dim'} | dict(hidden_size=768)),
    'GptOss': ('GptOssForCausalLM', dict(GROUPED, num_local_experts=2, num_experts_per_tok=1, sliding_window=128)),
    'DeepseekV3': ('DeepseekV3ForCausalLM', dict(SIZES, num_key_value_heads=8, moe_intermediate_size=256, n_routed_experts=4,
                                                 n_group=2, topk_group=1, num_experts_per_tok=2, first_k_dense_replace=2)),
    'Qwen3Next': ('Qwen3NextForCausalLM', dict(GROUPED, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=128,
                                               shared_expert_intermediate_size=128, linear_num_value_heads=8,
                                               linear_num_key_heads=4, linear_key_head_dim=128, linear_value_head_dim=128,
                                               layer_types=['linear_attention', 'full_attention'])),
    'KimiLinear': ('KimiLinearForCausalLM', dict(SIZES, num_key_value_heads=8, moe_intermediate_size=128, num_local_experts=4,
                                                 num_experts_per_token=2, kv_lora_rank=128, qk_rope_head_dim=64,
                                                 qk_nope_head_dim=128, v_head_dim=128, linear_head_dim=128, linear_num_heads=8,
                                                 layer_types=['linear_attention', 'full_attention'])),
    'Mamba2': ('Mamba2ForCausalLM', dict(num_heads=16, head_dim=64, hidden_size=512, state_size=128, num_hidden_layers=2,
                                         n_groups=1, vocab_size=1000)),
    'GPT2': ('GPT2LMHeadModel', dict(n_embd=512, n_layer=2, n_head=8, n_positions=16384, n_inner=512, vocab_size=1000)),
    'Mpt': ('MptForCausalLM', dict(d_model=512, n_heads=8, n_layers=2, expansion_ratio=1, max_seq_len=16384, vocab_size=1000)),
    'Falcon': ('FalconForCausalLM', dict(SIZES, ffn_hidden_size=512, multi_query=True)),
    'Bloom': ('BloomForCausalLM', dict(hidden_size=512, n_layer=2, n_head=8, vocab_size=1000)),
    'T5': ('T5ForConditionalGeneration', dict(d_model=512, d_kv=64, d_ff=512, num_layers=2, num_heads=8, vocab_size=1000,
                                              decoder_start_token_id=0)),
    'Bart': ('BartForConditionalGeneration', dict(HALVES, max_position_embeddings=16384, decoder_start_token_id=2)),
    'Whisper': ('WhisperForConditionalGeneration', dict(HALVES, num_mel_bins=80, decoder_start_token_id=1)),
    'Bert': ('BertForMaskedLM', dict(SIZES, max_position_embeddings=16384)),
    'ViT': ('ViTForImageClassification', dict(SIZES, image_size=224, patch_size=16)),
}
OF_PAIRS = ('T5', 'Bart', 'Whisper')           # models with an encoder and a decoder
OF_ONE_PASS = ('Bert', 'ViT')                  # models that generate nothing
CONFIGS = {'Gemma3': 'Gemma3TextConfig'}
KINDS = ('attnc', 'sdpa', 'eager')


def command_line():
    p = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    p.add_argument('--only', metavar='MODEL,…', help='these models: ' + ', '.join(MODELS))
    p.add_argument('--prompt', type=int, default=2048, metavar='N', help='tokens of the prompt (default 2048)')
    p.add_argument('--tokens', type=int, default=16, metavar='N', help='tokens after it, for the time of one (default 16)')
    p.add_argument('--rounds', type=int, default=4, help='the number of times that each is measured; the best counts (default 4)')
    p.add_argument('--threads', type=int, default=2)
    p.add_argument('--thread-time', action='store_true', help='count CPU time: for one thread on a busy machine')
    p.add_argument('--dtype', choices=('float32', 'bfloat16', 'float16'), default='float32')
    p.add_argument('--train', action='store_true', help='also the time of a step of training: forward and backward')
    p.add_argument('--write', action='store_true', help='put the table into README.md here')
    options = p.parse_args()
    if min(options.prompt, options.tokens, options.rounds, options.threads) < 1:
        p.error('prompt, tokens, rounds and threads are positive')
    if options.thread_time and options.threads != 1:
        p.error('--thread-time is for --threads 1')
    options.clock = time.process_time if options.thread_time else time.perf_counter
    options.names = options.only.split(',') if options.only else list(MODELS)
    for name in options.names:
        if name not in MODELS:
            p.error("there is no model '%s'" % name)
    return options


class Subject:
    """A model with one implementation of attention, and its best times in seconds."""

    def __init__(self, name, kind, options):
        import torch
        import transformers
        self.name, self.kind, self.options = name, kind, options
        class_name, settings = MODELS[name]
        settings = {**ENDS, **settings}
        config = getattr(transformers, CONFIGS.get(name, class_name.split('For')[0].split('LM')[0] + 'Config'))(**settings)
        config._attn_implementation = kind
        torch.manual_seed(0)
        self.model = getattr(transformers, class_name)(config).eval().to(getattr(torch, options.dtype))
        if kind == 'attnc':
            import attnc.transformers
            if name == 'Mamba2':
                attnc.transformers.prepare(self.model)
        self.prompt_time = self.token_time = self.step_time = None
        self.logits = None

    def inputs(self):
        import torch
        draws = torch.Generator().manual_seed(1)
        real = getattr(torch, self.options.dtype)
        if self.name == 'ViT':
            return dict(pixel_values=torch.randn(8, 3, 224, 224, generator=draws).to(real))
        if self.name == 'Whisper':
            return dict(input_features=torch.randn(1, 80, 3000, generator=draws).to(real))
        return dict(input_ids=torch.randint(3, 1000, (1, self.options.prompt), generator=draws))

    def cache(self):
        """Returns an empty cache, with the name of its argument."""
        import transformers
        forward = inspect.signature(self.model.forward).parameters
        argument = 'cache' if 'cache' in forward else 'past_key_values'
        if self.name in OF_PAIRS:
            made = transformers.EncoderDecoderCache(transformers.DynamicCache(), transformers.DynamicCache())
        elif self.kind == 'attnc':
            import attnc.transformers
            made = attnc.transformers.Cache(self.model.config)
        else:
            made = transformers.DynamicCache(config=self.model.config)
        return {argument: made}

    def round(self):
        """Measures a prompt and tokens after it, once."""
        import torch
        one = torch.full((1, 1), 7)
        given, more = self.inputs(), {}
        if self.name not in OF_ONE_PASS:
            more = dict(self.cache(), use_cache=True)
        first = dict(decoder_input_ids=one) if self.name in OF_PAIRS else {}
        with torch.no_grad():
            start = self.options.clock()
            made = self.model(**given, **first, **more)
            self.prompt_time = least(self.prompt_time, self.options.clock() - start)
            self.logits = made.logits[0].float()
            if self.name in OF_ONE_PASS:
                return
            if self.name in OF_PAIRS:
                known = dict(encoder_outputs=(made.encoder_last_hidden_state,))
                step = lambda: self.model(**known, decoder_input_ids=one, **more)
            else:
                step = lambda: self.model(input_ids=one, **more)
            step()
            start = self.options.clock()
            for _ in range(self.options.tokens):
                step()
            self.token_time = least(self.token_time, (self.options.clock() - start) / self.options.tokens)

    def train(self):
        """Measures forward and backward, once."""
        import torch
        given = self.inputs()
        if self.name in OF_PAIRS:
            given['decoder_input_ids'] = torch.full((1, 64), 7)
        if self.name not in OF_ONE_PASS:
            given['use_cache'] = False
        self.model.train()
        start = self.options.clock()
        self.model(**given).logits.float().mean().backward()
        self.step_time = least(self.step_time, self.options.clock() - start)
        self.model.zero_grad()
        self.model.eval()


def least(known, new):
    return new if known is None else min(known, new)


def apart(one, two):
    return float((one - two).abs().max() / two.abs().max())


def cell(subject, base, name):
    seconds, of_base = (getattr(s, name) if s else None for s in (subject, base))
    if seconds is None:
        return ''
    text = peers.milliseconds(1e3 * seconds)
    return text if subject is base else '%s (%.2f)' % (text, seconds / of_base)


def measure(name, options):
    """Returns the row of a model, and whether the results agree."""
    import torch
    peers.say(name)
    subjects = {}
    for kind in KINDS:
        try:
            subjects[kind] = Subject(name, kind, options)
        except (ValueError, ImportError) as error:   # some models have no sdpa
            peers.say('  %s: %s' % (kind, ' '.join(str(error).split())[:160]))
    for _ in range(options.rounds):
        for subject in subjects.values():
            subject.round()
            if options.train:
                subject.train()
    exact = subjects['eager'].logits
    if options.dtype != 'float32':
        plain = argparse.Namespace(**{**vars(options), 'dtype': 'float32'})
        reference = Subject(name, 'eager', plain)
        reference.round()
        exact = reference.logits
    far = {kind: apart(s.logits, exact) for kind, s in subjects.items()}
    ours = subjects['attnc']
    others = [subjects.get(kind) for kind in ('sdpa', 'eager')]
    columns = ['prompt_time', 'token_time'] + ['step_time'] * options.train
    cells = [cell(s, ours, c) for c in columns for s in [ours, *others]]
    limit = 1e-4 if options.dtype == 'float32' else 1.25 * max(far[k] for k in far if k != 'attnc') + 1e-3
    agrees = far['attnc'] <= limit
    errors = ', '.join('%.0e' % far[k] for k in KINDS if k in far and (options.dtype != 'float32' or k != 'eager'))
    row = '| %s | %s | %s%s |' % (name, ' | '.join(cells), errors, '' if agrees else ' **other results**')
    peers.say('  ' + row)
    subjects.clear()
    gc.collect()
    return row, agrees


def main():
    options = command_line()
    try:
        import torch
        import transformers
        import attnc.transformers
    except ImportError as error:
        peers.fail('%s: install torch and transformers, or use the Python of tests/python' % error)
    torch.set_num_threads(options.threads)
    transformers.logging.set_verbosity_error()
    parts = ['prompt', 'token'] + ['step'] * options.train
    heads = ['%s, %s' % (part, kind) for part in parts for kind in KINDS]
    lines = ['%s, %d threads; PyTorch %s, transformers %s; %s, prompt of %d tokens. In brackets: the time over attnc\'s.' % (
        peers.processor(), options.threads, torch.__version__, transformers.__version__, options.dtype, options.prompt),
        '', '| model | %s | logits apart |' % ' | '.join(heads), '|' + ' --- |' * (len(heads) + 2)]
    rows = [measure(name, options) for name in options.names]
    lines += [row for row, _ in rows]
    print('\n'.join(lines))
    if options.write:
        peers.write(os.path.join(HERE, 'README.md'), lines, BEGIN)
    return 0 if all(agrees for _, agrees in rows) else 1


if __name__ == '__main__':
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
