#!/usr/bin/env python3
"""Writes a small Llama with random weights and a tokenizer of bytes: model.py FILE.gguf. Needs gguf of PyPI."""
import argparse

import gguf
import numpy as np


def tokenizer(writer):
    """Adds a vocabulary of bytes, as SentencePiece has it for text that it does not know."""
    tokens = ['<unk>', '<s>', '</s>'] + ['<0x%02X>' % byte for byte in range(256)]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL] + [gguf.TokenType.BYTE] * 256
    writer.add_tokenizer_model('llama')
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    return len(tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('file')
    for name, size in ('layers', 4), ('heads', 8), ('kv-heads', 2), ('head-dim', 64), ('inner', 512), ('seed', 1):
        parser.add_argument('--' + name, type=int, default=size, help='default: %(default)s')
    o = parser.parse_args()
    rng, width = np.random.default_rng(o.seed), o.heads * o.head_dim

    writer = gguf.GGUFWriter(o.file, 'llama')
    writer.add_context_length(1 << 17)
    writer.add_embedding_length(width)
    writer.add_block_count(o.layers)
    writer.add_feed_forward_length(o.inner)
    writer.add_head_count(o.heads)
    writer.add_head_count_kv(o.kv_heads)
    writer.add_key_length(o.head_dim)
    writer.add_value_length(o.head_dim)
    writer.add_rope_dimension_count(o.head_dim)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    vocabulary = tokenizer(writer)
    writer.add_vocab_size(vocabulary)

    def matrix(name, rows, columns, gain=1.0):
        writer.add_tensor(name, (rng.standard_normal((rows, columns)) * gain / columns ** 0.5).astype(np.float16))

    def ones(name):
        writer.add_tensor(name, np.ones(width, np.float32))

    matrix('token_embd.weight', vocabulary, width, width ** 0.5)
    ones('output_norm.weight')
    matrix('output.weight', vocabulary, width, 3)
    for n in range(o.layers):
        layer = 'blk.%d.' % n
        ones(layer + 'attn_norm.weight')
        matrix(layer + 'attn_q.weight', width, width, 2)   # larger logits: rows of attention are not all alike
        matrix(layer + 'attn_k.weight', o.kv_heads * o.head_dim, width)
        matrix(layer + 'attn_v.weight', o.kv_heads * o.head_dim, width)
        matrix(layer + 'attn_output.weight', width, width)
        ones(layer + 'ffn_norm.weight')
        matrix(layer + 'ffn_gate.weight', o.inner, width)
        matrix(layer + 'ffn_up.weight', o.inner, width)
        matrix(layer + 'ffn_down.weight', width, o.inner)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == '__main__':
    main()
