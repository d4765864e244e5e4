/* attnc check: compiles the kernel and compares forward, extend and backward with the interpreter. */
#include "check.h"
#include "../../driver/driver.h"
#include "../../host/host.h"
#include "../../support/support.h"

enum status check_kernel(struct checking *c)
{
    struct loaded_kernel loaded;
    enum status status = kernel_load(c->p->spec->name, unit_source_here(c->p, c->o), c->p->header.data,
                                     c->o->console.quiet, &loaded);
    if (status != STATUS_DONE) return status;
    struct worst worst = {.share = 0};
    for (int n = 0; n < c->sizes && status == STATUS_DONE; n++) {
        struct called forward;
        const int error = check_call(c, loaded.kernel, n, false, &forward);
        if (!error) check_outputs(&c->sample[n], n, forward.output, 1, &worst);
        check_call_end(&forward);
        if (error) status = complain_as(c->o, STATUS_MACHINE, "%s: %s", c->p->spec->name, attn_strerror(error));
    }
    if (status == STATUS_DONE)
        check_report(c, "the compiled kernel", "the compiled kernel", &worst, "of the tolerance", worst.share <= 1);
    c->worst = worst;
    if (status == STATUS_DONE && loaded.kernel->extend) status = check_decode(c, loaded.kernel);
    if (status == STATUS_DONE && loaded.kernel->backward) status = check_backward(c, loaded.kernel);
    kernel_unload(&loaded);
    return status;
}
