"""Makes small models of transformers with random weights, and computes what tests compare."""
import torch
import transformers

SIZES = dict(vocab_size=100, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4)
GROUPED = dict(SIZES, num_key_value_heads=2)
HALVES = dict(d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
              encoder_ffn_dim=32, decoder_ffn_dim=32, vocab_size=100)
ENDS = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)
MODELS = {
    'Llama': ('LlamaForCausalLM', GROUPED),
    'Mistral': ('MistralForCausalLM', dict(GROUPED, sliding_window=5)),
    'Gemma2': ('Gemma2ForCausalLM', dict(GROUPED, head_dim=8, sliding_window=5, query_pre_attn_scalar=11,
                                         attn_logit_softcapping=2.0)),
    'Gemma3': ('Gemma3ForCausalLM', dict(GROUPED, head_dim=8, sliding_window=5, query_pre_attn_scalar=11,
                                         layer_types=['sliding_attention', 'full_attention'])),
    'Qwen3': ('Qwen3ForCausalLM', dict(GROUPED, head_dim=8)),
    'GPT2': ('GPT2LMHeadModel', dict(vocab_size=100, n_embd=32, n_layer=2, n_head=4, n_positions=80)),
    'Bert': ('BertForMaskedLM', SIZES),
    'ViT': ('ViTForImageClassification', dict(hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
                                              image_size=16, patch_size=4)),
    'T5': ('T5ForConditionalGeneration', dict(d_model=32, d_kv=8, d_ff=32, num_layers=2, num_heads=4, vocab_size=100,
                                              relative_attention_num_buckets=8, relative_attention_max_distance=16,
                                              decoder_start_token_id=0)),
    'Bart': ('BartForConditionalGeneration', dict(HALVES, max_position_embeddings=80, decoder_start_token_id=2,
                                                  forced_eos_token_id=None)),
    'Marian': ('MarianMTModel', dict(HALVES, max_position_embeddings=80, decoder_start_token_id=2, forced_eos_token_id=None)),
    'T5Gemma': ('T5GemmaForConditionalGeneration', dict(
        vocab_size=100, encoder=dict(GROUPED, head_dim=8, sliding_window=5, query_pre_attn_scalar=8),
        decoder=dict(GROUPED, head_dim=8, sliding_window=5, query_pre_attn_scalar=8))),
    'Whisper': ('WhisperForConditionalGeneration', dict(HALVES, num_mel_bins=8, max_source_positions=20, max_target_positions=80,
                                                        decoder_start_token_id=1)),
    'GptOss': ('GptOssForCausalLM', dict(GROUPED, head_dim=8, num_local_experts=2, num_experts_per_tok=1, sliding_window=5)),
    'DiffLlama': ('DiffLlamaForCausalLM', GROUPED),
    'Phi3': ('Phi3ForCausalLM', dict(GROUPED, sliding_window=6)),
    'DeepseekV3': ('DeepseekV3ForCausalLM', dict(GROUPED, num_key_value_heads=4, moe_intermediate_size=16, n_routed_experts=4, n_group=2,
                                                 topk_group=1, num_experts_per_tok=2, first_k_dense_replace=1,
                                                 q_lora_rank=16, kv_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=4,
                                                 v_head_dim=6)),
    'Mpt': ('MptForCausalLM', dict(d_model=32, n_heads=4, n_layers=2, vocab_size=100, max_seq_len=80)),
    'Falcon': ('FalconForCausalLM', dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4)),
    'Bloom': ('BloomForCausalLM', dict(vocab_size=100, hidden_size=32, n_layer=2, n_head=4)),
    'Mamba2': ('Mamba2ForCausalLM', dict(num_heads=4, head_dim=6, vocab_size=100, hidden_size=12, state_size=8,
                                         num_hidden_layers=2, expand=2, n_groups=2, chunk_size=32)),
    'Qwen3Next': ('Qwen3NextForCausalLM', dict(GROUPED, head_dim=8, num_experts=4, num_experts_per_tok=2,
                                               moe_intermediate_size=16, shared_expert_intermediate_size=16,
                                               linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=8,
                                               linear_value_head_dim=8,
                                               layer_types=['linear_attention', 'full_attention'])),
    'KimiLinear': ('KimiLinearForCausalLM', dict(SIZES, num_key_value_heads=4, moe_intermediate_size=16, num_local_experts=4,
                                                 num_experts_per_token=2, kv_lora_rank=8, qk_rope_head_dim=4,
                                                 qk_nope_head_dim=4, v_head_dim=6, linear_head_dim=8, linear_num_heads=4,
                                                 layer_types=['linear_attention', 'full_attention'],
                                                 mlp_layer_types=['dense', 'sparse'])),
}
OF_PAIRS = ('T5', 'Bart', 'Marian', 'T5Gemma', 'Whisper')  # models with an encoder and a decoder
CONFIGS = {'Gemma3': 'Gemma3TextConfig'}


def model_of(name, implementation='eager', **changes):
    """Returns a small model. Its random weights do not depend on the implementation."""
    torch.manual_seed(0)
    kind, settings = MODELS[name]
    settings = {**ENDS, **settings, **changes}
    config = getattr(transformers, CONFIGS.get(name, name + 'Config'))(**settings)
    config._attn_implementation = implementation
    model = getattr(transformers, kind)(config)
    with torch.no_grad():
        for parameter in model.parameters():  # larger weights make attention less uniform
            if parameter.dim() > 1:
                parameter.mul_(4)
    return model.eval()


def ids(rows=3, n=11, seed=1):
    return torch.randint(3, 100, (rows, n), generator=torch.Generator().manual_seed(seed))


def inputs(name, padding=None, rows=3, n=11):
    """Returns inputs of a model. `padding` is 'left', 'right' or None."""
    if name == 'ViT':
        return {'pixel_values': torch.randn(rows, 3, 16, 16, generator=torch.Generator().manual_seed(2))}
    if name == 'Whisper':
        made = {'input_features': torch.randn(rows, 8, 40, generator=torch.Generator().manual_seed(2))}
    else:
        made = {'input_ids': ids(rows, n)}
    if padding is not None and name != 'Whisper':
        mask = torch.ones(rows, n, dtype=torch.long)
        for row, count in zip(mask[1:], (3, 6)):
            row[slice(None, count) if padding == 'left' else slice(n - count, None)] = 0
        made['attention_mask'] = mask
    return made


def kept(name, given, logits):
    """Returns the logits of positions that are not padding."""
    mask = given.get('attention_mask')
    return logits if mask is None or mask.dim() != 2 or name in OF_PAIRS else logits[mask.bool()]


def outputs(model, name, given, gradients=False):
    """Returns the logits of a model, and the gradients of its parameters if they are wanted."""
    given = dict(given)
    if name in OF_PAIRS:
        given['decoder_input_ids'] = ids(3, 7, 3)
    model.zero_grad()
    with torch.set_grad_enabled(gradients):
        logits = kept(name, given, model(**given).logits)
    if not gradients:
        return logits, {}
    weights = torch.linspace(-1, 1, logits.numel()).view_as(logits)
    (logits.float() * weights).mean().backward()
    return logits.detach(), {key: p.grad.clone() for key, p in model.named_parameters() if p.grad is not None}


def tokens(model, given, count=8, **more):
    """Returns tokens that the model generates."""
    with torch.no_grad():
        return model.generate(**given, **dict(dict(max_new_tokens=count, min_new_tokens=count, do_sample=False, pad_token_id=0), **more))
