/* Bayesian optimisation (Jones, Schonlau and Welch, 1998).
   - A Gaussian process predicts the score of a point. The score is the log of the point's ratio (score_of).
   - Inputs of the process are the knobs on a logarithmic scale and the cost model's prediction.
   - The next point is the one with the maximum expected improvement (EI) of the score.
   - The `place` of a point is its input vector.
   - A point is "seen" if it has a result or is the default point. */
#include "search.h"
#include "pool.h"
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* - POOL: the maximum number of points in the initial pool
   - NEIGHBOURS: the maximum number of neighbours that are added to the pool
   - MAX_SEEN: if more points are seen, some are forgotten
   - MAX_FITTED: the maximum number of seen points in a fit */
enum { POOL = 2048, NEIGHBOURS = 1024, MAX_SEEN = 320, MAX_FITTED = 80, PARAMETERS = MAX_KNOBS + 2 };
/* The number of samples of a point that is new, and of a point that may be the best. */
enum { TRIAL_SAMPLES = 7, SURE_SAMPLES = 21 };

struct seen {
    int index; /* the index in the pool, or -1 for the default point */
    int64_t number;
    /* `score` is the log of the ratio, or infinity if the point failed. `low` is the lower end of its confidence
       interval. */
    double score, low;
    double noise; /* the variance of the score, estimated from the samples */
    bool sure;    /* true if the point needs no more samples, or SURE_SAMPLES were requested */
};
/* The parameters of the covariance. `steepness` is the inverse of the length scale along a knob. */
struct kernel {
    int knobs;
    double steepness[MAX_KNOBS], noise, slope;
};
struct search {
    struct arena *arena;
    struct search_request request;
    struct search_pool pool;
    /* place[p] belongs to point p of the pool. It has every knob scaled to 0 … 1, then the standardised prediction
       of the cost model. */
    double (*place)[MAX_KNOBS + 1];
    double default_place[MAX_KNOBS + 1];
    /* The mean, worst value and deviation of the cost model's predictions for the pool. */
    double expected_mean, expected_worst, expected_deviation;
    bool *asked; /* asked[p] is true if point p of the pool was proposed */
    int64_t by_default;
    /* The number of the point whose neighbours were added to the pool last, or -1 before that. */
    int64_t explored;
    /* `design` is the number of initial points. `turns` is the number of points returned. `idle` is the number of
       the last points that had a tiny EI. */
    int design, turns, idle;
    int64_t trials;
    struct seen seen[MAX_SEEN];
    int count;

    /* The Gaussian process. K is the covariance matrix of the seen points. L is its Cholesky factor: K = L L'. */
    int fitted; /* the number of seen points at the last fit, or 0 before the first fit */
    /* Logarithms of the length scale along each knob, of the noise, and of the weight of the cost model's
       prediction. */
    double parameter[PARAMETERS];
    struct kernel kernel;
    double (*factor)[MAX_SEEN]; /* the matrix L. Its first `rows` rows are computed. */
    double (*tried)[MAX_SEEN];  /* L for parameters that the fit is trying */
    /* reach[p] is inverse(L) times the covariances of point p of the pool with the seen points. */
    double (*reach)[MAX_SEEN];
    int rows;
    /* `value` has the standardised scores (see `see`). weight = inverse(L) * value. */
    double value[MAX_SEEN], weight[MAX_SEEN];
    /* A second regression predicts whether a point can be measured. Its data are 1 for measured points and 0 for
       failed points. `share` is the mean of the data. works = inverse(L) * (data - share). */
    double works[MAX_SEEN], share;
    /* `mean` and `deviation` are the mean and deviation of the limited scores. `variance` is the variance of the
       process, for standardised scores. */
    double mean, deviation, variance;
    bool over;
    int now; /* the index in the pool of the point that was returned last */
};

/* ---- the Gaussian process ---- */

static struct kernel kernel_of(const struct search *m, const double *parameter)
{
    struct kernel kernel = {.knobs = m->request.space->knobs};
    for (int k = 0; k < kernel.knobs; k++) kernel.steepness[k] = exp(-parameter[k]);
    kernel.noise = exp(parameter[kernel.knobs]);
    kernel.slope = exp(parameter[kernel.knobs + 1]);
    return kernel;
}

/* Returns the covariance of the scores at two places. It is the sum of
   - a Matérn covariance (smoothness 5/2) of the knobs,
   - a linear covariance of the cost model's predictions,
   - 0.25, for an unknown constant offset. */
static double covariance(const struct kernel *kernel, const double *a, const double *b)
{
    double square = 0;
    for (int k = 0; k < kernel->knobs; k++) {
        const double d = (a[k] - b[k]) * kernel->steepness[k];
        square += d * d;
    }
    const double r = sqrt(5 * square);
    return (1 + r + r * r / 3) * exp(-r) + kernel->slope * a[MAX_KNOBS] * b[MAX_KNOBS] + 0.25;
}

static const double *place_of(const struct search *m, int seen)
{
    const int index = m->seen[seen].index;
    return index < 0 ? m->default_place : m->place[index];
}

/* Computes row `n` of the Cholesky factor for the points chosen[0..n]. If `chosen` is NULL, the points are the first
   n + 1 seen points. Returns false if rounding made the pivot negative or 0. */
static bool factor_row(const struct search *m, const struct kernel *kernel, double (*factor)[MAX_SEEN],
                       const int *chosen, int n)
{
    const double *place = place_of(m, chosen ? chosen[n] : n);
    for (int j = 0; j <= n; j++) {
        double sum = covariance(kernel, place, place_of(m, chosen ? chosen[j] : j)) + (j == n ? kernel->noise : 0);
        for (int k = 0; k < j; k++) sum -= factor[n][k] * factor[j][k];
        if (j < n)
            factor[n][j] = sum / factor[j][j];
        else if (sum <= 1e-12)
            return false;
        else
            factor[n][n] = sqrt(sum);
    }
    return true;
}

/* Standardises the scores of the seen points: subtracts the mean and divides by the standard deviation.
   - A very bad score is limited first. It would hide the differences between good points.
   - A failed point gets a mildly bad score, because the best points are often next to points that fail. */
static void see(struct search *m)
{
    double sorted[MAX_SEEN] = {0};
    int measured = 0;
    for (int k = 0; k < m->count; k++) {
        const double score = m->seen[k].score;
        if (score == INFINITY) continue;
        int at = measured++;
        for (; at > 0 && sorted[at - 1] > score; at--) sorted[at] = sorted[at - 1];
        sorted[at] = score;
    }
    const double best = sorted[0]; /* the default point is always measured */
    double bad = best + 2.5 * (sorted[measured / 2] - best);
    if (bad < best + 0.1) bad = best + 0.1;
    const double failed = 0.5 * (sorted[measured / 2] < bad ? sorted[measured / 2] + bad : 2 * bad);
    double sum = 0, squares = 0;
    for (int k = 0; k < m->count; k++) {
        m->value[k] = m->seen[k].score == INFINITY ? failed : fmin(m->seen[k].score, bad);
        sum += m->value[k];
    }
    m->mean = sum / m->count;
    for (int k = 0; k < m->count; k++) squares += (m->value[k] - m->mean) * (m->value[k] - m->mean);
    m->deviation = squares > 0 ? sqrt(squares / m->count) : 1;
    for (int k = 0; k < m->count; k++) m->value[k] = (m->value[k] - m->mean) / m->deviation;
}

/* Sets *about and *within to the mean and standard deviation of the normal prior of parameter[k]. */
static void prior(const struct search *m, int k, double *about, double *within)
{
    const int knobs = m->request.space->knobs;
    *about = k < knobs ? log(0.6) : k == knobs ? log(0.02) : log(0.3);
    *within = k < knobs ? 0.8 : 1.3;
}

/* Returns the log of the posterior density of the parameters, given `n` chosen points, up to a constant. Takes the
   variance of the process that maximises this density. */
static double likelihood(const struct search *m, const double *parameter, const int *chosen, int n,
                         double (*factor)[MAX_SEEN])
{
    const struct kernel kernel = kernel_of(m, parameter);
    double sum = 0, logs = 0, weight[MAX_FITTED];
    for (int i = 0; i < n; i++) {
        if (!factor_row(m, &kernel, factor, chosen, i)) return -INFINITY;
        double w = m->value[chosen[i]];
        for (int k = 0; k < i; k++) w -= factor[i][k] * weight[k];
        weight[i] = w / factor[i][i];
        sum += weight[i] * weight[i];
        logs += log(factor[i][i]);
    }
    double result = -0.5 * (n + 2) * log((sum + 1) / (n + 2)) - logs;
    for (int k = 0; k < m->request.space->knobs + 2; k++) {
        double about, within;
        prior(m, k, &about, &within);
        const double off = (parameter[k] - about) / within;
        result -= 0.5 * off * off;
    }
    return result;
}

static int by_value(const void *a, const void *b)
{
    const struct seen *const *x = a, *const *y = b;
    if ((*x)->score != (*y)->score) return (*x)->score < (*y)->score ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

/* Fits the parameters by coordinate search. Each step changes one parameter and must improve `likelihood`. Uses the
   best seen points, and as many others that are spread evenly. */
static void fit(struct search *m)
{
    double(*factor)[MAX_SEEN] = m->tried;
    const struct seen *order[MAX_SEEN];
    int chosen[MAX_FITTED], n = 0;
    for (int k = 0; k < m->count; k++) order[k] = &m->seen[k];
    qsort(order, (size_t)m->count, sizeof(const struct seen *), by_value);
    const int best = m->count <= MAX_FITTED ? m->count : MAX_FITTED / 2, rest = MAX_FITTED - best;
    for (int k = 0; k < best; k++) chosen[n++] = (int)(order[k] - m->seen);
    for (int k = 0; n < m->count && k < rest; k++)
        chosen[n++] = (int)(order[best + (int64_t)k * (m->count - best) / rest] - m->seen);

    double now = likelihood(m, m->parameter, chosen, n, factor);
    static const double steps[] = {1.0, 0.5, 0.25};
    for (int s = 0; s < 3; s++)
        for (int k = 0; k < m->request.space->knobs + 2; k++)
            for (int sign = -1; sign <= 1; sign += 2)
                for (int turn = 0; turn < 3; turn++) {
                    const double before = m->parameter[k];
                    m->parameter[k] += sign * steps[s];
                    const double then = likelihood(m, m->parameter, chosen, n, factor);
                    if (then > now) {
                        now = then;
                        continue;
                    }
                    m->parameter[k] = before;
                    break;
                }
    m->kernel = kernel_of(m, m->parameter);
    m->fitted = m->count;
    m->rows = 0;
}

/* Computes reach[p][n] by forward substitution from reach[p][0..n-1]. */
static void reach_point(struct search *m, int p, int n)
{
    double sum = covariance(&m->kernel, place_of(m, n), m->place[p]);
    for (int k = 0; k < n; k++) sum -= m->factor[n][k] * m->reach[p][k];
    m->reach[p][n] = sum / m->factor[n][n];
}

/* Updates the Gaussian process for all seen points. Fits the parameters again if there are enough new points. */
static void update(struct search *m)
{
    see(m);
    if (m->fitted == 0 || m->count >= m->fitted + 1 + m->fitted / 8) fit(m);
    while (m->rows < m->count) {
        const int n = m->rows;
        if (!factor_row(m, &m->kernel, m->factor, NULL, n)) {
            /* more noise adds to the diagonal of K, which makes K positive definite */
            m->parameter[m->request.space->knobs] += 1;
            m->kernel = kernel_of(m, m->parameter);
            m->rows = 0;
            continue;
        }
        for (int p = 0; p < m->pool.count; p++)
            if (!m->asked[p]) reach_point(m, p, n);
        m->rows++;
    }
    double sum = 0, working = 0;
    for (int i = 0; i < m->count; i++) working += m->seen[i].score < INFINITY;
    m->share = working / m->count;
    for (int i = 0; i < m->count; i++) {
        double w = m->value[i], works = (m->seen[i].score < INFINITY) - m->share;
        for (int k = 0; k < i; k++) {
            w -= m->factor[i][k] * m->weight[k];
            works -= m->factor[i][k] * m->works[k];
        }
        m->weight[i] = w / m->factor[i][i];
        m->works[i] = works / m->factor[i][i];
        sum += m->weight[i] * m->weight[i];
    }
    m->variance = (sum + 1) / (m->count + 2);
}

/* ---- the next point ---- */

/* Returns the expected improvement: the expectation of max(best - x, 0) for a normal x with this mean and deviation. */
static double improvement(double best, double mean, double deviation)
{
    if (deviation <= 0) return best > mean ? best - mean : 0;
    const double z = (best - mean) / deviation;
    return deviation * (z * 0.5 * erfc(-z * 0.70710678118654752) + 0.39894228040143268 * exp(-0.5 * z * z));
}

/* Returns the score that a new point should improve on. This is the lowest estimate of a seen point's true score.
   `luck` is the variance of the samples' noise, relative to the variance of the process. */
static double target(const struct search *m, double luck)
{
    double inverse[MAX_SEEN], best = INFINITY;
    for (int i = m->count - 1; i >= 0; i--) {
        double sum = m->weight[i];
        for (int k = i + 1; k < m->count; k++) sum -= m->factor[k][i] * inverse[k];
        inverse[i] = sum / m->factor[i][i];
        const double believed = m->value[i] - luck * inverse[i];
        if (believed < best) best = believed;
    }
    return best;
}

/* Returns the index in the pool of the point with the maximum EI, and sets *gain to its EI. Returns -1 if all points
   were already returned. */
static int most_promising(struct search *m, double *gain)
{
    update(m);
    /* The fitted noise has two parts: the samples' noise (`luck`), and real differences between points (`lasting`).
       A new point can gain from the second part, so it counts for EI. */
    const double noise = m->kernel.noise * m->variance;
    double luck = 0;
    for (int k = 0; k < m->count; k++) luck += m->seen[k].noise / m->count;
    luck /= m->deviation * m->deviation;
    if (luck > noise) luck = noise;
    const double lasting = noise - luck, best = target(m, luck / m->variance);
    static const double MIN_CHANCE = 0.02;
    int chosen = -1;
    *gain = -1;
    for (int p = 0; p < m->pool.count; p++) {
        if (m->asked[p]) continue;
        double mean = 0, works = m->share, left = covariance(&m->kernel, m->place[p], m->place[p]);
        for (int k = 0; k < m->count; k++) {
            mean += m->reach[p][k] * m->weight[k];
            works += m->reach[p][k] * m->works[k];
            left -= m->reach[p][k] * m->reach[p][k];
        }
        const double chance = fmin(fmax(works, MIN_CHANCE), 1), deviation = sqrt(fmax(left, 0) * m->variance + lasting);
        const double expected = chance * chance * improvement(best, mean, deviation) * m->deviation;
        if (chosen < 0 || expected > *gain) {
            chosen = p;
            *gain = expected;
        }
    }
    return chosen;
}

/* ---- initial points ---- */

static double distance(const struct search *m, const double *a, const double *b)
{
    double square = 0;
    for (int k = 0; k < m->request.space->knobs; k++) square += (a[k] - b[k]) * (a[k] - b[k]);
    return square;
}

/* Returns the next initial point: the candidate that is farthest from the seen points. Candidates are the best
   points of the cost model and random points, alternately. Returns -1 if no candidate is left. */
static int design_point(const struct search *m)
{
    enum { LIKED = 8, DRAWN = 24 };
    const bool ranked = m->turns % 2 == 0;
    int liked = m->pool.count / 20 > LIKED ? m->pool.count / 20 : LIKED, chosen = -1;
    double farthest = -1;
    if (m->turns == 0) liked = 1;
    for (int k = 0; k < (ranked ? liked : DRAWN) && k < m->pool.count; k++) {
        const uint64_t bits = search_bits(m->request.seed, STREAM_DESIGN, (uint64_t)m->turns * DRAWN + (uint64_t)k);
        const int p = ranked ? m->pool.ranked[k] : (int)(bits % (uint64_t)m->pool.count);
        if (m->asked[p]) continue;
        double nearest = INFINITY;
        for (int n = 0; n < m->count; n++) {
            const double d = distance(m, m->place[p], place_of(m, n));
            if (d < nearest) nearest = d;
        }
        if (nearest > farthest) {
            farthest = nearest;
            chosen = p;
        }
    }
    return chosen;
}

/* ---- places ---- */

static void place_point(const struct search *m, int64_t number, double *place)
{
    const struct tune_space *space = m->request.space;
    const struct tune_point point = point_of(space, number);
    for (int k = 0; k < space->knobs; k++) {
        const struct tune_knob *knob = &space->knob[k];
        const int last = knob->values - 1;
        if (last == 0)
            place[k] = 0;
        else if (knob->value[0] > 0)
            place[k] = log((double)knob->value[point.at[k]] / (double)knob->value[0]) /
                       log((double)knob->value[last] / (double)knob->value[0]);
        else
            place[k] = (double)point.at[k] / last;
    }
}

/* Sets the last element of the place to the standardised prediction of the cost model. A point without a prediction
   gets the worst prediction of the pool. */
static void place_expected(const struct search *m, double expected, double *place)
{
    if (expected == INFINITY) expected = m->expected_worst;
    place[MAX_KNOBS] = m->expected_deviation > 1e-9 ? (expected - m->expected_mean) / m->expected_deviation : 0;
}

static void place_pool(struct search *m)
{
    const int count = m->pool.count;
    double max = -INFINITY, sum = 0, squares = 0;
    int some = 0;
    for (int p = 0; p < count; p++) {
        if (m->pool.expected[p] == INFINITY) continue;
        max = fmax(max, m->pool.expected[p]);
        sum += m->pool.expected[p];
        some++;
    }
    if (some > 0) {
        m->expected_worst = max;
        m->expected_mean = sum / some;
        for (int p = 0; p < count; p++) {
            const double off = m->pool.expected[p] - m->expected_mean;
            if (m->pool.expected[p] < INFINITY) squares += off * off;
        }
        m->expected_deviation = sqrt(squares / some);
    }
    for (int p = 0; p < count; p++) {
        place_point(m, m->pool.number[p], m->place[p]);
        place_expected(m, m->pool.expected[p], m->place[p]);
    }
}

/* Adds the neighbours of the best seen point to the pool. A neighbour differs by one step in one knob. */
static void add_neighbours(struct search *m)
{
    const struct tune_space *space = m->request.space;
    const struct seen *leader = &m->seen[0];
    for (int k = 1; k < m->count; k++)
        if (m->seen[k].score < leader->score) leader = &m->seen[k];
    if (leader->number == m->explored || space_points(space) <= POOL) return;
    m->explored = leader->number;
    const struct tune_point centre = point_of(space, leader->number);
    for (int step = 0; step < 2 * space->knobs && m->pool.count < POOL + NEIGHBOURS; step++) {
        struct tune_point point = centre;
        const int knob = step / 2, p = m->pool.count;
        point.at[knob] += step % 2 ? 1 : -1;
        if (point.at[knob] < 0 || point.at[knob] >= space->knob[knob].values) continue;
        const int64_t number = point_number(space, &point);
        bool known = number == m->by_default;
        for (int k = 0; k < p && !known; k++) known = m->pool.number[k] == number;
        if (known) continue;
        m->pool.number[p] = number;
        m->pool.expected[p] = search_expected(&m->request, number);
        m->asked[p] = false;
        place_point(m, number, m->place[p]);
        place_expected(m, m->pool.expected[p], m->place[p]);
        for (int n = 0; n < m->rows; n++) reach_point(m, p, n);
        m->pool.count++;
    }
}

struct search *search_open(const struct search_request *request)
{
    struct arena *arena = arena_new();
    struct search *m = arena_alloc(arena, sizeof *m);
    memset(m, 0, sizeof *m);
    m->arena = arena;
    m->request = *request;
    m->pool = search_pool_make(arena, request, POOL, NEIGHBOURS);
    const size_t count = (size_t)m->pool.count + (space_points(request->space) > POOL ? NEIGHBOURS : 0);
    m->place = arena_alloc(arena, (count + 1) * sizeof *m->place);
    m->asked = arena_alloc(arena, (count + 1) * sizeof *m->asked);
    memset(m->asked, 0, (count + 1) * sizeof *m->asked);
    m->factor = arena_alloc(arena, MAX_SEEN * sizeof *m->factor);
    m->tried = arena_alloc(arena, MAX_FITTED * sizeof *m->tried);
    m->reach = arena_alloc(arena, (count + 1) * sizeof *m->reach);
    const struct tune_point point = point_default(request->space);
    m->by_default = point_number(request->space, &point);
    m->explored = -1;
    place_pool(m);
    place_point(m, m->by_default, m->default_place);
    place_expected(m, search_expected(request, m->by_default), m->default_place);
    m->design = 2 * request->space->knobs + 4;
    if (request->trials > 0 && m->design > request->trials / 3) m->design = (int)(request->trials / 3);
    m->seen[m->count++] = (struct seen){.index = -1, .number = m->by_default, .sure = true};
    for (int k = 0; k < PARAMETERS; k++) {
        double within;
        prior(m, k, &m->parameter[k], &within);
    }
    return m;
}

/* Returns the seen point that needs more samples, or NULL.
   - Without `rivals`, this is the best point, unless it is `sure`.
   - With `rivals`, this is the best point that is not `sure` and whose confidence interval includes the best score. */
static struct seen *unsure(struct search *m, bool rivals)
{
    const struct seen *leader = &m->seen[0];
    struct seen *found = NULL;
    for (int k = 1; k < m->count; k++)
        if (m->seen[k].score < leader->score) leader = &m->seen[k];
    for (int k = 0; k < m->count; k++)
        if (!m->seen[k].sure && (rivals ? m->seen[k].low <= leader->score : &m->seen[k] == leader) &&
            (!found || m->seen[k].score < found->score))
            found = &m->seen[k];
    return found;
}

bool search_next(struct search *m, struct tune_point *point, int *samples)
{
    enum { PATIENCE = 10 };
    static const double MIN_GAIN = 0.001;
    if (m->over || (m->request.trials > 0 && m->trials >= m->request.trials)) return false;
    const bool ending = m->request.trials > 0 && m->trials >= m->request.trials - m->request.trials / 12;
    struct seen *again = m->turns >= m->design || ending ? unsure(m, ending) : NULL;
    m->trials++;
    if (again) {
        again->sure = true;
        *point = point_of(m->request.space, again->number);
        *samples = SURE_SAMPLES;
        return true;
    }
    int chosen = m->turns < m->design ? design_point(m) : -1;
    if (chosen < 0) {
        double gain;
        add_neighbours(m);
        chosen = most_promising(m, &gain);
        m->idle = gain < MIN_GAIN ? m->idle + 1 : 0;
        if (m->request.trials <= 0 && m->idle >= PATIENCE) chosen = -1;
    }
    m->over = chosen < 0;
    if (m->over) return false;
    m->turns++;
    m->asked[chosen] = true;
    m->now = chosen;
    *point = point_of(m->request.space, m->pool.number[chosen]);
    *samples = TRIAL_SAMPLES;
    return true;
}

/* Forgets every second point of the worse half of the seen points. The remaining points still show which regions are
   bad. */
static void forget(struct search *m)
{
    const struct seen *order[MAX_SEEN];
    struct seen kept[MAX_SEEN];
    int count = 0;
    for (int k = 0; k < m->count; k++) order[k] = &m->seen[k];
    qsort(order, (size_t)m->count, sizeof(const struct seen *), by_value);
    for (int k = 0; k < m->count; k++)
        if (k < m->count / 2 || k % 2 == 0 || order[k]->index < 0) kept[count++] = *order[k];
    memcpy(m->seen, kept, (size_t)count * sizeof *kept);
    m->count = count;
    m->fitted = m->rows = 0;
}

/* Returns the log of the measured ratio, or infinity if the point failed. Lower is better. */
static double score_of(const struct tune_result *result)
{
    if (result->status != TUNE_MEASURED) return INFINITY;
    const double ratio = tune_gain(result).ratio;
    return ratio > 0 && isfinite(ratio) ? log(ratio) : INFINITY;
}

void search_tell(struct search *m, const struct tune_point *point, const struct tune_result *result)
{
    const int64_t number = point_number(m->request.space, point);
    int k = 0;
    while (k < m->count && m->seen[k].number != number) k++;
    if (k == MAX_SEEN) {
        forget(m);
        k = m->count;
    }
    if (k == m->count) {
        m->seen[k] = (struct seen){.index = m->now, .number = number};
        m->count++;
    }
    struct seen *seen = &m->seen[k];
    seen->score = seen->low = score_of(result);
    if (seen->score == INFINITY) {
        seen->sure = true;
        return;
    }
    /* For normal samples, the variance of the median is about pi / 2 = 1.57 times the variance of the mean. */
    double sum = 0, squares = 0;
    for (int s = 0; s < result->samples; s++)
        sum += log(result->sample[s].seconds / result->sample[s].default_seconds) / result->samples;
    for (int s = 0; s < result->samples; s++) {
        const double off = log(result->sample[s].seconds / result->sample[s].default_seconds) - sum;
        squares += off * off;
    }
    seen->noise = result->samples > 1 && isfinite(squares) ? 1.57 * squares / (result->samples - 1) / result->samples
                                                           : 0;
    static const double SURE = 0.01;
    const struct tune_gain gain = tune_gain(result);
    seen->low = gain.low > 0 ? log(gain.low) : -INFINITY;
    seen->sure |= gain.high <= gain.low * (1 + SURE);
}

void search_close(struct search *m)
{
    arena_free(m->arena);
}
