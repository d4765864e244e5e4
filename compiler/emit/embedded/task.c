/* Templates of functions that compute a task, in pieces. emit/task.c and emit/phases.c select a piece by its name,
   and replace words in capitals. `call`, `task`, `share` and `iteration` are parameters of the functions.
   - phase: runs one iteration of a parallel loop on a head
   - chunk, slot, segment, fold: see runtime/kernel/call.h */

#if PIECE_TILE_OF_RESIDUE
    const int64_t tiles = (SIZE + RUN - 1) / RUN * PERIOD, tile = tiles - 1 - NUMBER % tiles;
    const int64_t FROM = tile / PERIOD * RUN + tile % PERIOD, TO = min(FROM + REACH, SIZE),
        COUNT = (TO - FROM + PERIOD - 1) / PERIOD;
    if (FROM >= SIZE) return;
#endif
#if PIECE_TILE_IN_ORDER
    const int64_t tiles = (SIZE + STEP - 1) / STEP, FROM = NUMBER % tiles * STEP, TO = min(FROM + STEP, SIZE);
#endif
#if PIECE_TILE_FROM_LAST
    const int64_t tiles = (SIZE + STEP - 1) / STEP, FROM = (tiles - 1 - NUMBER % tiles) * STEP,
        TO = min(FROM + STEP, SIZE);
#endif
#if PIECE_RANGE
    const int64_t FROM = NUMBER * STEP, TO = min(FROM + STEP, SIZE);
#endif
#if PIECE_BY_HEADS
    /* The thread has PLACES places for tiles. If only those of one head have a place, a head is computed for all
       sequences before the next head. */
    const int64_t of_head = OF_HEAD;
    const int by_heads = of_head <= PLACES && HEADS * of_head > PLACES;
    const int64_t unit = by_heads ? (NUMBER) % call->p.batch * (HEADS) + (NUMBER) / call->p.batch : NUMBER;
#endif
#if PIECE_TASK
/* Computes task number `task`: WHAT. `work` is this thread's workspace. */
#endif
#if PIECE_HEAD
/* Computes head number `task`. Each thread on the head calls this with `share`. */
#endif
#if PIECE_SHARED
    for (int64_t iteration = FIRST; iteration < END; iteration += share->threads)
        PHASE(call, task, share, iteration);
#if SYNCHRONISES
    synchronise(share);
#endif
#endif
#if PIECE_BEGIN_KEPT
    if (call->length == call->start) { /* the state has no keys yet */
BODY
    }
#endif
#if PIECE_OWN_CHUNKS
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++)
            PHASE(call, task, share, iteration);
#endif
#if PIECE_STORED_CHUNKS
        for (int64_t iteration = share->chunk0; iteration < share->chunk1; iteration++) {
            unsigned char *const stored = stored_sums(call, task, iteration, CHUNK, SLOT);
            unsigned char *const slot = share->slots + (iteration - share->chunk0) * SLOT;
            if (stored && call->asked)
                memcpy(slot, stored, SLOT);
            else
                PHASE(call, task, share, iteration);
            if (stored && !call->asked) write_through(stored, slot, SLOT);
        }
#endif
#if PIECE_FOLD
        for (int64_t group = 0; group < GROUPS; group++) {
            await_segment(share, GROUP, segment);
            const int64_t end = (group + 1) * ITERATIONS / GROUPS;
            for (int64_t iteration = group * ITERATIONS / GROUPS; iteration < end; iteration++)
                PHASE(call, task, share, iteration);
            pass_segment(share, GROUP, segment);
        }
#endif
#if PIECE_KEPT_STATE
    if (call->p.n_k - call->summed < CHUNK) { /* no chunk is complete, so the sums do not change */
        unsigned char *const slots = share->slots;
        share->slots = KEPT;
        share->chunk0 = call->summed / CHUNK;
#if FEW
        if (share->number == 0 && call->p.n_q <= MAX_FEW)
            FEW_PHASE(call, task, share, share->chunk0);
        else if (share->number == 0)
            PHASE(call, task, share, share->chunk0);
#else
        if (share->number == 0) PHASE(call, task, share, share->chunk0);
#endif
        synchronise(share);
        share->slots = slots;
        return;
    }
#endif
#if PIECE_TAKE_OUTER
    unsigned char *const outer = outer_sums(call, task, OUTER_BYTES);
    if (outer) {
        if (share->number == 0) {
COPIES
        }
        synchronise(share);
    }
#endif
#if PIECE_UNLESS_ONLY_SUMS
        if (!call->only_sums) {
BODY
        }
#endif
#if PIECE_UNLESS_SUMMED
    if (!outer || call->gives) { /* outer sums have all tokens, unless the call adds its own ones */
BODY
    }
#endif
#if PIECE_GIVE_OUTER
    if (call->gives) {
        if (share->number == 0) {
COPIES
        }
        synchronise(share);
        if (call->only_sums) return;
    }
#endif
#if PIECE_WINDOWS
    share->slots -= share->number * share->window * SLOT; /* now the slots of thread 0, because threads share all slots */
    for (share->chunk0 = FIRST; share->chunk0 < CHUNKS; share->chunk0 += share->window * share->threads) {
        if (share->CHUNK_BEGIN * CHUNK >= READ_FIRST) /* skip keys that no query sees */
            share->CHUNK_BEGIN = max(share->CHUNK_BEGIN, (FIRST_QUERY - READ_BACK) / CHUNK);
        share->chunk1 = min(share->chunk0 + share->window * share->threads, CHUNKS);
BODY
    }
    share->slots += share->number * share->window * SLOT;
#endif
#if PIECE_SEGMENTS
    const int64_t length = segment_length(share, CHUNKS - first);
    for (int64_t segment = share->number; first + segment * length < CHUNKS; segment += share->threads) {
        share->chunk0 = first + segment * length;
        share->chunk1 = min(share->chunk0 + length, CHUNKS);
BODY
    }
    share->segments += (max(CHUNKS - first, 0) + length - 1) / length;
#endif
#if PIECE_FOLD_OF_ONE_THREAD
            for (int64_t iteration = 0; iteration < ITERATIONS; iteration++)
                PHASE(call, task, share, iteration);
#endif
#if PIECE_ONE_THREAD
#if STORES
    if (share->threads == 1 && !call->chunk_sums) { /* queries read the carried state before their chunk is added */
#else
    if (share->threads == 1) { /* queries read the carried state before their chunk is added */
#endif
        unsigned char *const slots = share->slots;
        for (share->chunk0 = first; share->chunk0 < CHUNKS; share->chunk0++) {
            share->chunk1 = share->chunk0 + 1;
            share->slots = share->shared;
#if OUTER
            if (!call->only_sums) PHASE(call, task, share, share->chunk0);
#else
            PHASE(call, task, share, share->chunk0);
#endif
            share->slots = slots;
            KEYS_PHASE(call, task, share, share->chunk0);
FOLDS
        }
    } else {
BODY
    }
#endif
#if PIECE_FIRST
/* Prepares the queries of head number `task`, and initialises its states. */
#endif
#if PIECE_FIRST_OR_COMMON
    if (call->common_begun) {
        if (share->number == 0) MOVE(call, task, share, 0, 1);
        synchronise(share);
    } else
        FIRST(call, task, share);
#endif
#if PIECE_MOVE
/* Copies the rows of the call's queries from the tiles to call->common, or back. They are the rows from `first` on of
   the tiles. */
KIND void MOVE(const struct call *call, int64_t task, const struct share *share, int64_t first, int back)
{
    const int64_t rows = call->p.heads / call->p.kv_heads * call->p.n_q;
    unsigned char *row = call->common + task * rows * ROW;
    for (int64_t r = first; r < first + rows; r++, row += ROW) {
BODY
    }
}

#endif
#if PIECE_COMMON
/* Sums the keys of chunks that several sequences share, once for the rows of all these sequences. */
#endif
#if PIECE_COMMON_CHUNKS
    const int64_t segment = 0;
    int64_t first = 0;
    for (int64_t n = 0; n < call->sharers; n++) {
        if (call->sharer[n]->common_begun) continue;
        FIRST(call->sharer[n], task, share);
#if RANGE
        EARLIER(call->sharer[n], task, share, call->common_chunks);
#endif
        MOVE(call->sharer[n], task, share, 0, 0);
    }
    for (int64_t n = 0; n < call->sharers; n++) {
        const struct attn_problem *const of = &call->sharer[n]->p;
        MOVE(call->sharer[n], task, share, first, 1);
        first += of->heads / of->kv_heads * of->n_q;
    }
    for (share->chunk0 = call->common_chunks; share->chunk0 < CHUNKS; share->chunk0++) {
        share->chunk1 = share->chunk0 + 1;
BODY
    }
    first = 0;
    for (int64_t n = 0; n < call->sharers; n++) {
        const struct attn_problem *const of = &call->sharer[n]->p;
        MOVE(call->sharer[n], task, share, first, 0);
        first += of->heads / of->kv_heads * of->n_q;
    }
#endif
#if PIECE_RANGE_OF_SEQUENCE
/* Sets range[0] and range[1] to the keys that all rows of a sequence see. They are the same for all heads. */
#endif
#if PIECE_COMMON_RANGE
    range[0] = FROM;
    range[1] = TO;
#endif
#if PIECE_EARLIER
/* Sums the chunks of a sequence before chunk number `end`, from which on other sequences share them. */
#endif
#if PIECE_EARLIER_CHUNKS
    const int64_t segment = 0;
    for (share->chunk0 = FIRST; share->chunk0 < end; share->chunk0++) {
        share->chunk1 = share->chunk0 + 1;
BODY
    }
#endif
