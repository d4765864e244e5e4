#if DECODE
STATE_FUNCTIONS

#endif
#if RESULTS
int SPEC_merge(const struct attn_problem *left, void *left_out, const struct attn_problem *right, const void *right_out)
{
    return attn_merge(left, left_out, right, right_out, DTYPE, VALUE_DIM, STATISTICS);
}

#endif
#if PARAMS
static const struct attn_param param[] = {
PARAM_TABLE
};

#endif
static int params_init_any(void *params, uint64_t seed, void *storage)
{
    return SPEC_params_init((struct SPEC_params *)params, seed, storage);
}

static int forward_any(const struct attn_problem *problem, const void *params, ARRAY_ANY_ARGUMENTS, void *workspace)
{
#if VALUES_ARE_KEYS
ARRAY_ANY_UNUSED
#endif
    return SPEC_forward(problem, (const struct SPEC_params *)params, ARRAY_ANY_VALUES, workspace);
}

#if BACKWARD
static int backward_any(const struct attn_problem *problem, const void *params, GRADIENT_ANY_ARGUMENTS, void *gradients,
    void *workspace)
{
#if VALUES_ARE_KEYS
GRADIENT_ANY_UNUSED
#endif
    return SPEC_backward(problem, (const struct SPEC_params *)params, GRADIENT_ANY_VALUES,
        (struct SPEC_gradients *)gradients, workspace);
}
#endif
#if KEY_SUMS
/* Member add_key_sums of struct attn_kernel. */
static int add_key_sums(const struct attn_problem *problem, const void *params, const void *k, const void *v,
    void *workspace)
{
    const void *const q = NULL;
    void *const out = NULL;
    if (!problem || !problem->earlier_sums) return ATTN_EPOINTER;
#if VALUES_ARE_KEYS
ARRAY_ANY_UNUSED
#endif
    return attend(problem, (const struct SPEC_params *)params, ARRAY_ANY_VALUES, workspace, 1);
}
#endif
#if OUTER && BACKWARD
/* Member add_outer_sums of struct attn_kernel. */
static int add_outer_sums(const struct attn_problem *problem, const void *params, const void *q, const void *k,
    const void *v, const void *out, const void *dout, int later, void *workspace)
{
    void *const dq = NULL, *const dk = NULL, *const dv = NULL;
    if (!problem || !problem->earlier_sums) return ATTN_EPOINTER;
#if VALUES_ARE_KEYS
GRADIENT_ANY_UNUSED
#endif
    return differentiate(problem, (const struct SPEC_params *)params, GRADIENT_ANY_VALUES, NULL, workspace,
        later ? OUTER_LATER : OUTER_EARLIER);
}
#endif
#if HAS_ADDS && BACKWARD
#if PREFIX_GRADIENTS
/* Member finish_gradients of struct attn_kernel. */
static int finish_gradients(const struct attn_problem *problem, const void *params, GRADIENT_ANY_ARGUMENTS, void *gradients,
    void *workspace)
{
#if VALUES_ARE_KEYS
GRADIENT_ANY_UNUSED
#endif
    return differentiate(problem, (const struct SPEC_params *)params, GRADIENT_ANY_VALUES,
        (struct SPEC_gradients *)gradients, workspace, OUTER_TERMS);
}
#endif
#endif
#if DECODE
static int extend_any(const struct attn_problem *problem, const void *params, ARRAY_ANY_ARGUMENTS, void *state,
    void *workspace)
{
#if VALUES_ARE_KEYS
ARRAY_ANY_UNUSED
#endif
    return SPEC_extend(problem, (const struct SPEC_params *)params, APPENDED_ANY_VALUES, state, workspace);
}
#endif

const struct attn_kernel SPEC_kernel = {
    .name = NAME_AS_TEXT, .version = VERSION_AS_TEXT, .dtype = DTYPE, .head_dim = HEAD_DIM, .value_dim = VALUE_DIM,
    .params = PARAM_COUNT, .param = PARAM_POINTER, .params_bytes = sizeof(struct SPEC_params),
    .params_size = SPEC_params_size, .params_init = params_init_any, .workspace = SPEC_workspace,
    .forward = forward_any,
#if BACKWARD
    .saved = SPEC_saved, .backward_workspace = SPEC_backward_workspace, .backward = backward_any,
#endif
#if DECODE
    .state = SPEC_state, .state_init = SPEC_state_init, .extend_workspace = SPEC_extend_workspace,
    .extend = extend_any, .state_length = SPEC_state_length, .state_min_length = SPEC_state_min_length,
    .state_truncate = SPEC_state_truncate, .state_copy = SPEC_state_copy,
    .state_fold = SPEC_state_fold, .page = SPEC_page,
    .state_keep = SPEC_state_keep,
#endif
#if VALUES_ARE_KEYS
    .values_are_keys = 1,
#endif
    .key_dtype = KEY_DTYPE, .value_dtype = VALUE_DTYPE,
#if RESULTS
    .statistics = STATISTICS, .merge = SPEC_merge,
#endif
#if STRIDED
    .strides = offsetof(struct SPEC_params, STRIDES_MEMBER), .strides_bytes = sizeof(struct SPEC_strides),
#endif
#if TABLES
    .tiles_bytes = attn_tiles_bytes, .tiles_of_mask = attn_tiles_of_mask,
#endif
    .before = BEFORE, .after = AFTER, .period = PERIOD, .names_heads = NAMES_HEADS,
    .names_sequences = NAMES_SEQUENCES, .in_parts = IN_PARTS,
    .saved_power = SAVED_POWER, .has_sink = HAS_SINK, .open_keys = OPEN_KEYS, .end_of_keys = END_OF_KEYS,
#if KEY_SUMS
    .key_sums = key_sums, .add_key_sums = add_key_sums, .sums_whole = WHOLE,
#endif
#if OUTER
    .outer_adds = OUTER_ADDS,
#endif
#if OUTER && BACKWARD
    .outer_sums = outer_sums_bytes, .add_outer_sums = add_outer_sums, .outer_chunk = OUTER_CHUNK,
#endif
#if DECAY_PARTS
    .decay_terms = PREFIX_ROW, .decay_params = DECAY_PARAMS, .decay_sums = decay_sums,
#endif
#if HAS_ADDS && BACKWARD
#if PREFIX_GRADIENTS
    .finish_gradients = finish_gradients,
#endif
#endif
#if DECODE
    .state_chunk = state_chunk, .state_part = state_part,
#if CHUNK_SUMS
    .chunk_sums = chunk_sums,
#endif
#endif
};
