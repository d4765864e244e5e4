/* Strategies of the search for schedules, on landscapes whose best point is known: order, limits, how near the best they come, commands on a pipe. */
#include "compiler/tune.h"
#include "suite.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "search_landscape.h"

int main(int argc, char **argv)
{
    struct options o = {0};
    int seeds = argc > 1 ? atoi(argv[1]) : 8;
    for (int l = 0; l < landscape_count; l++) {
        double best = landscape_best(&landscapes[l]);
        int64_t n = space_points(&landscapes[l].space);
        int near = 0;
        for (int64_t k = 0; k < n; k++) {
            struct tune_point p = point_of(&landscapes[l].space, k);
            near += landscape_true(&landscapes[l], &p) < best * 1.03;
        }
        printf("%-12s points %lld best %.3f within 3%%: %d\n", landscapes[l].name, (long long)n, best, near);
        for (int s = 0; search_names[s]; s++) {
#ifdef ONLY
            if (strcmp(search_names[s], ONLY)) continue;
#endif
            int bad = 0;
            double worst = 0, sum = 0;
            clock_t t = clock();
            for (int seed = 1; seed <= seeds; seed++) {
                double found = landscape_search(&landscapes[l], search_names[s], (uint64_t)seed, s ? n / 4 : 0, &o);
                double off = found / best - 1;
                bad += off > 0.03;
                sum += off / seeds;
                if (off > worst) worst = off;
            }
            printf("   %-12s mean %.4f worst %.4f bad %d/%d  %.2fs each\n", search_names[s], sum, worst, bad, seeds, (double)(clock() - t) / CLOCKS_PER_SEC / seeds);
        }
    }
}
