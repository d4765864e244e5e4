/* Writes specs. The spec of softmax attention without weights and expressions is that of spec_of in
   runtime/python/attnc/_traits.py, so that the kernels in a wheel serve both. */
#include "provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *dtype_word(int type)
{
    switch (type) {
    case ORT_F32: return "f32";
    case ORT_F16: return "f16";
    case ORT_BF16: return "bf16";
    case ORT_F64: return "f64";
    default: return NULL;
    }
}

/* Which keys a query sees, by numbers of the call. */
#define RANGE "row + at[b] - j < left && j - row - at[b] <= right && since[b] <= j && j < until[b]"
#define ELEMENT "[b][h][row][j]"

char *spec_of(const struct traits *t)
{
    const bool wide = t->mask == ORT_F64 || t->mask == ORT_F32, added = t->mask && t->mask != ORT_BOOL;
    struct text text = {0}, logit = {0}, seen = {0};
    text_add(&logit, t->cap ? "cap * tanh(s * scale / cap)" : "s * scale");
    if (t->score) {
        text_free(&logit);
        text_add(&logit, "%s", t->score);
    }
    if (added) text_add(&logit, " + extra" ELEMENT);
    text_add(&seen, RANGE "%s%s%s", t->mask == ORT_BOOL ? " && seen" ELEMENT : "", t->seen ? " && " : "",
             t->seen ? t->seen : "");

    text_add(&text, "similarity: {softmax: {scale: 1, modify: \"%s\"}}\n", logit.data ? logit.data : "");
    text_add(&text, "mask: {expr: \"%s%s\"}\n", seen.data ? seen.data : "",
             added ? " && extra" ELEMENT " != -INFINITY" : "");
    text_add(&text, "shape: {head_dim: %lld, value_dim: %lld}\ndtype: %s\n", (long long)t->head_dim,
             (long long)t->value_dim, dtype_word(t->type));
    text_add(&text, "arrays: {scale: {shape: []}, left: {shape: [], type: int}, right: {shape: [], type: int}, "
                    "at: {shape: [B], type: int}, since: {shape: [B], type: int}, until: {shape: [B], type: int}");
    if (t->cap) text_add(&text, ", cap: {shape: []}");
    if (added)
        text_add(&text, ", extra: {shape: [B, H, Nq, Nk]%s%s}",
                 wide ? "" : ", type: ", wide ? "" : dtype_word(t->mask));
    if (t->mask == ORT_BOOL) text_add(&text, ", seen: {shape: [B, H, Nq, Nk], type: bool}");
    if (t->sink) text_add(&text, ", sink: {shape: [H]}");
    if (t->mode == MASKED) text_add(&text, ", none: {shape: []}");
    text_add(&text, "%s}\n", t->arrays ? t->arrays : "");
    if (t->sink) text_add(&text, "normalize: {sink: \"sink[h]\"}\n");
    if (t->factor) text_add(&text, "sums: {a: {factor: \"%s\"}}\noutput: a\n", t->factor);
    if (t->mode != NO_WEIGHTS) text_add(&text, "emit: [forward, weights]\n");
    if (t->mode == SCALED) text_add(&text, "weights: \"s * scale\"\n");
    if (t->mode == CAPPED) text_add(&text, "weights: \"%s\"\n", t->cap ? "cap * tanh(s * scale / cap)" : "s * scale");
    if (t->mode == MASKED)
        text_add(&text,
                 "weights: \""
                 "%s ? %s : none\"\n",
                 seen.data ? seen.data : "", logit.data ? logit.data : "");
    const bool failed = text.failed || logit.failed || seen.failed;
    text_free(&logit);
    text_free(&seen);
    if (failed) text_free(&text);
    return text.data;
}
