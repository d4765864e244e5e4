// Predicts the bytes of a text with two kernels, called from C++.
#include "../text/text.h"

#include <attnrt.h>

#include <memory>
#include <stdexcept>

#include "polysketch.h"
#include "softmax.h"

namespace
{

using memory = std::unique_ptr<void, decltype(&attn_free)>;

memory allocate(std::size_t bytes)
{
    memory made(attn_alloc(bytes), attn_free);
    if (!made) throw std::bad_alloc();
    return made;
}

// A kernel with parameters that are generated from a seed.
class attention
{
  public:
    explicit attention(const attn_kernel &kernel, std::uint64_t seed = 1)
        : kernel_(kernel), params_(allocate(kernel.params_bytes)), storage_(allocate(kernel.params_size()))
    {
        check(kernel_.params_init(params_.get(), seed, storage_.get()));
    }
    void operator()(const attn_problem &problem, const float *q, const float *k, const float *v, float *out) const
    {
        const memory workspace = allocate(kernel_.workspace(&problem));
        check(kernel_.forward(&problem, params_.get(), q, k, v, out, workspace.get()));
    }

  private:
    static void check(int error)
    {
        if (error) throw std::runtime_error(attn_strerror(error));
    }
    const attn_kernel &kernel_;
    memory params_, storage_;
};

int attend(const void *which, std::int64_t rows, const float *q, const float *k, const float *v, float *out)
{
    attn_problem problem{};
    problem.batch = problem.heads = problem.kv_heads = 1;
    problem.n_q = problem.n_k = rows;
    try {
        (*static_cast<const attention *>(which))(problem, q, k, v, out);
        return 0;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}

} // namespace

int main(int argc, char **argv)
{
    const attention softmax(softmax_kernel), polysketch(polysketch_kernel);
    const predictor all[] = {{"softmax, scale 16", attend, &softmax}, {"polysketch, r = 32", attend, &polysketch}};
    return predict(argc, argv, all, 2);
}
