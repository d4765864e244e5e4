/* Answers questions about a program. Only this file lists the kinds of program. */
#include "schedule.h"

bool program_is_forward(const struct program *p)
{
    return p->kind == PROGRAM_FORWARD || p->kind == PROGRAM_FORWARD_SAVING;
}

bool program_saves_rows(const struct program *p)
{
    return p->kind == PROGRAM_FORWARD_SAVING;
}

bool program_sums_rows(const struct program *p)
{
    return program_is_forward(p) || p->kind == PROGRAM_SAVED_ROWS || p->kind == PROGRAM_QUERY_PREPARED;
}

bool program_is_backward(const struct program *p)
{
    switch (p->kind) {
    case PROGRAM_SAVED_ROWS:
    case PROGRAM_ROW_SUMS:
    case PROGRAM_GRADIENTS:
    case PROGRAM_TOTALS:
    case PROGRAM_FROM_SUMS:
    case PROGRAM_UNSAVED: return true;
    case PROGRAM_FORWARD:
    case PROGRAM_FORWARD_SAVING:
    case PROGRAM_EXTEND:
    case PROGRAM_FOLD_STATES:
    case PROGRAM_QUERY_PREPARED:
    case PROGRAM_PREPARE_KEYS:
    case PROGRAM_PREFIX_TERMS:
    case PROGRAM_CORRECT_VALUES: break;
    }
    return false;
}

bool program_is_differentiated(const struct program *p)
{
    return program_is_backward(p) || program_saves_rows(p);
}

bool program_outputs_gradients(const struct program *p)
{
    return p->kind == PROGRAM_GRADIENTS || p->kind == PROGRAM_TOTALS || p->kind == PROGRAM_FROM_SUMS;
}

bool program_reads_saved(const struct program *p)
{
    return p->kind == PROGRAM_GRADIENTS;
}

bool program_has_weight_gradients(const struct program *p)
{
    return program_reads_saved(p) || program_is_unsaved(p);
}

bool program_recomputes_saved(const struct program *p)
{
    return p->kind == PROGRAM_SAVED_ROWS;
}

bool program_sums_dout(const struct program *p)
{
    return p->kind == PROGRAM_ROW_SUMS;
}

bool program_adds_totals(const struct program *p)
{
    return p->kind == PROGRAM_TOTALS;
}

bool program_takes_sums(const struct program *p)
{
    return p->kind == PROGRAM_FROM_SUMS;
}

bool program_is_unsaved(const struct program *p)
{
    return p->kind == PROGRAM_UNSAVED;
}

bool program_keeps_state(const struct program *p)
{
    return p->kind == PROGRAM_EXTEND || p->kind == PROGRAM_FOLD_STATES;
}

bool program_folds_states(const struct program *p)
{
    return p->kind == PROGRAM_FOLD_STATES;
}

bool program_takes_prepared(const struct program *p)
{
    return p->kind == PROGRAM_QUERY_PREPARED || p->appends;
}

bool program_prepares_keys(const struct program *p)
{
    return p->kind == PROGRAM_PREPARE_KEYS;
}

bool program_computes_terms(const struct program *p)
{
    return p->kind == PROGRAM_PREFIX_TERMS;
}

bool program_corrects_values(const struct program *p)
{
    return p->kind == PROGRAM_CORRECT_VALUES;
}

const char *program_function(const struct program *p)
{
    switch (p->kind) {
    case PROGRAM_QUERY_PREPARED:
        return p->few ? "extend_few" : p->by_heads ? "extend_heads" : p->linear ? "extend_linear" : "extend";
    case PROGRAM_PREPARE_KEYS: return "prepare";
    case PROGRAM_PREFIX_TERMS: return "terms";
    case PROGRAM_CORRECT_VALUES: return p->appends ? "correct_new" : "correct";
    case PROGRAM_SAVED_ROWS: return p->linear ? "linear_saved" : "saved";
    case PROGRAM_ROW_SUMS: return p->linear ? "linear_row_sums" : "row_sums";
    case PROGRAM_EXTEND: return p->short_tile ? "extend_few" : p->foldable ? "extend_foldable" : "extend";
    case PROGRAM_FOLD_STATES: return "join";
    case PROGRAM_FORWARD:
    case PROGRAM_FORWARD_SAVING:
    case PROGRAM_UNSAVED: return p->linear ? "linear" : p->few ? "few" : p->by_heads ? "heads" : "rows";
    case PROGRAM_GRADIENTS:
    case PROGRAM_TOTALS:
    case PROGRAM_FROM_SUMS: break;
    }
    return NULL;
}

bool program_takes_outer_sums(const struct compilation *c)
{
    return program_is_backward(&c->program) && (c->spec->emit & EMIT_BACKWARD) && (c->spec->emit & EMIT_DECODE);
}
