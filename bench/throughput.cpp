// Training throughput: ResNet-20, batch 32, one thread; forward, backward and the SGD update on the
// arena. Prints images per second, the best and the median of rounds of a few seconds in all.
// Seconds are of processor time, so that other work on the machine matters less.
//   bench_throughput [seconds]

#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "algorithms/optimizers/optimizer.hpp"
#include "arena/kernels.hpp"
#include "train/allocator.hpp"
#include "train/models/model.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"

using namespace dbench;
using namespace dbench::train;

namespace {

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

int main(int argc, char** argv) {
    keep_freed_memory();
    torch::set_num_threads(1);
    const double seconds = argc > 1 ? std::atof(argv[1]) : 5;
    constexpr int64_t kBatch = 32;
    constexpr int kStepsPerRound = 5;

    const auto model = base::find_entry(model_table(), "resnet20")
                           ->make(base::Json{{"zero_init", false}}, {{3, 32, 32}, 10});
    Replicas replica(*model, {1, 1}, 0, arena::DType::float32, Init::same, 1);
    const auto& layout = replica.layout();
    const base::Json spec = algorithms::resolve_optimizer("sgd", "/optimizer");
    const auto optimizer =
        base::find_entry(algorithms::optimizer_table(), "sgd")->make(spec, layout);
    optimizer->declare(replica.state());

    Weights weights{views(layout, replica.x(), 0),
                    views(replica.buffer_layout(), replica.buffers(), 0)};
    const auto gradients = views(layout, replica.g(), 0);
    for (size_t k = 0; k < gradients.size(); ++k) {
        weights.parameters[k].requires_grad_(true).mutable_grad() = gradients[k];
    }

    torch::Tensor images = torch::randn({kBatch, 32, 32, 3});
    const torch::Tensor labels = torch::randint(10, {kBatch}, torch::kInt64);
    data::Batch batch;
    batch.count = kBatch;
    batch.shape = {kBatch, 3, 32, 32};
    batch.order = model->order();
    batch.inputs = images.data_ptr();
    batch.labels = labels.data_ptr<int64_t>();

    int64_t t = 0;
    const auto step = [&] {
        arena::fill_zero(replica.g(), layout.all());
        const torch::Tensor output = model->forward(weights, input_tensor(batch), true);
        model->loss(output, batch).backward();
        optimizer->step(replica.x(), replica.x(), replica.x(), replica.g(), layout.all(),
                        {0.01, ++t}, nullptr);
    };
    for (int warm = 0; warm < 3; ++warm) step();
    std::vector<double> rates;
    const double start = processor_seconds();
    while (processor_seconds() - start < seconds) {
        const double began = processor_seconds();
        for (int i = 0; i < kStepsPerRound; ++i) step();
        rates.push_back(kStepsPerRound * kBatch / (processor_seconds() - began));
    }
    std::sort(rates.begin(), rates.end());
    std::printf("%.1f %.1f\n", rates.back(), rates[rates.size() / 2]);
    return 0;
}
