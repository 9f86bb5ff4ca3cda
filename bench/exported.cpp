// Measures the time of an operator in an exported graph, and of the same operator called directly.
//   bench_exported FILE SHAPE OPERATORS SECONDS
// FILE is an exported model for samples of SHAPE (C,H,W) whose graph ends in OPERATORS times
// aten::neg on its logits. Prints the median nanoseconds of the whole graph, and of as many direct
// calls on tensors of the size of the logits. It uses processor time.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/family.hpp"
#include "train/device/allocator.hpp"
#include "train/models/model.hpp"
#include "train/models/names.hpp"
#include "train/torch.hpp"

using namespace dbench;
using namespace dbench::train;

namespace {

constexpr int64_t kClasses = 10;

double processor_nanoseconds() { return 1e9 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Returns the median time of a call.
template <class Call>
double median_time(double seconds, Call call) {
    constexpr int kCalls = 20;
    std::vector<double> times;
    const double start = processor_nanoseconds();
    while (times.size() < 3 || processor_nanoseconds() - start < 1e9 * seconds) {
        const double began = processor_nanoseconds();
        for (int k = 0; k < kCalls; ++k) call();
        times.push_back((processor_nanoseconds() - began) / kCalls);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

void measure(const std::string& path, const std::vector<int64_t>& shape, int64_t operators,
             double seconds) {
    const torch::NoGradGuard no_grad;
    const base::Json spec = base::resolve_member({{"type", "exported"}, {"path", path}}, "/model",
                                                 "model", model_entries());
    const auto model =
        base::find_entry(model_table(), "exported")->make(spec, ModelContext{shape, kClasses});
    Weights weights;
    for (const ParameterInfo& info : model->declaration().parameters) {
        torch::Tensor tensor = torch::zeros(info.shape);
        info.initialise(tensor);
        weights.parameters.push_back(tensor);
    }
    std::vector<int64_t> batch{1};
    batch.insert(batch.end(), shape.begin(), shape.end());
    const torch::Tensor input = torch::randn(batch);
    const double graph =
        median_time(seconds, [&] { model->forward(weights, input, /*training=*/true); });
    const torch::Tensor logits = torch::randn({1, kClasses});
    const double direct = median_time(seconds, [&] {
        torch::Tensor x = logits;
        for (int64_t k = 0; k < operators; ++k) x = at::neg(x);
    });
    std::printf("%.1f %.1f\n", graph, direct);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fputs("usage: bench_exported FILE SHAPE OPERATORS SECONDS\n", stderr);
        return base::kExitUser;
    }
    keep_freed_memory();
    torch::set_num_threads(1);
    std::vector<int64_t> shape;
    std::istringstream sizes(argv[2]);
    for (std::string size; std::getline(sizes, size, ',');) shape.push_back(std::stoll(size));
    try {
        measure(argv[1], shape, std::atoll(argv[3]), std::atof(argv[4]));
    } catch (const base::UserError& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return base::kExitUser;
    }
    return 0;
}
