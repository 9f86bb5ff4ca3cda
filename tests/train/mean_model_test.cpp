// The averaged model: mean parameters, and both kinds of BatchNorm statistics.

#include "train/evaluation/mean_model.hpp"

#include <nlohmann/json.hpp>

#include "base/random.hpp"
#include "catch.hpp"
#include "comm/transport/launcher.hpp"
#include "model_fixture.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"

using namespace dbench;
using namespace dbench::train;

namespace {

constexpr int64_t kMeanModelReplicas = 5, kBatch = 8;

/// Replicas of a small convolutional network with different parameters and statistics.
struct DifferentReplicas {
    data::DataSets data = data::load_data(
        data::resolve_data({{"type", "shapes"}, {"train", 300}, {"test", 8}}, "/data"),
        {kMeanModelReplicas, 1});
    std::unique_ptr<Model> model =
        make_model(R"({"type": "cnn", "width": 2})", {data.train->shape(), data.train->classes()});
    comm::World world{comm::alone()};
    comm::Placement placement{kMeanModelReplicas, 1};
    Replicas replicas{*model, placement, 0, arena::DType::float64, Init::independent, 3};
    comm::Exchange exchange{world, placement, replicas.layout(), nullptr,
                            comm::Reduction::reproducible};
    MeanModel mean{world, placement, *model, replicas, exchange};

    DifferentReplicas() {
        base::Random random(1, base::Purpose::init);
        for (int64_t i = 0; i < kMeanModelReplicas; ++i) {
            for (auto& buffer : buffers(i)) {
                auto values = buffer.flatten();
                for (int64_t k = 0; k < values.numel(); ++k) values[k] = 1 + random.uniform();
            }
        }
    }
    std::vector<torch::Tensor> buffers(int64_t i) {
        return views(replicas.buffer_layout(), replicas.buffers(), i);
    }
    torch::Tensor stacked(size_t buffer) {  // [replicas, ...]
        std::vector<torch::Tensor> all;
        for (int64_t i = 0; i < kMeanModelReplicas; ++i) all.push_back(buffers(i)[buffer].clone());
        return torch::stack(all);
    }
};

bool close(const torch::Tensor& a, const torch::Tensor& b) {
    return torch::allclose(a, b, 1e-10, 1e-10);
}

}  // namespace

TEST_CASE("The parameters of the mean model are the mean of the replicas' parameters") {
    DifferentReplicas run;
    const Weights pooled = run.mean.pooled(run.replicas.x());
    for (size_t k = 0; k < pooled.parameters.size(); ++k) {
        std::vector<torch::Tensor> all;
        for (int64_t i = 0; i < kMeanModelReplicas; ++i) {
            all.push_back(views(run.replicas.layout(), run.replicas.x(), i)[k].clone());
        }
        CHECK(close(pooled.parameters[k], torch::stack(all).mean(0)));
    }
}

TEST_CASE("Pooled variances include the variance of the means") {
    DifferentReplicas run;
    const Weights pooled = run.mean.pooled(run.replicas.x());
    const auto& infos = run.model->declaration().buffers;
    REQUIRE(infos.size() == 6);
    int variances = 0;
    for (size_t k = 0; k < infos.size(); ++k) {
        torch::Tensor expected = run.stacked(k).mean(0);
        if (infos[k].variance) {
            const torch::Tensor of_means = run.stacked(k - 1).var(0, /*unbiased=*/false);
            CHECK(of_means.min().item<double>() > 1e-4);  // otherwise the test would show nothing
            expected = expected + of_means;
            ++variances;
        }
        INFO(infos[k].name);
        CHECK(close(pooled.buffers[k], expected));
    }
    CHECK(variances == 3);
}

TEST_CASE("Recalibrated statistics are the plain mean over batches of the training set") {
    DifferentReplicas run;
    const Weights mean = run.mean.recalibrated(run.replicas.x(), *run.data.train, kBatch);
    data::PlainBatches plain(arena::DType::float64, run.model->order());
    std::vector<torch::Tensor> means, variances;  // of the first layer, by batch
    const int64_t size = run.data.train->size();
    for (int64_t b = 0; b < 32; ++b) {
        std::vector<int64_t> samples;  // at equal distances
        for (int64_t j = 0; j < kBatch; ++j) samples.push_back((32 * j + b) * size / (32 * kBatch));
        const data::Batch& batch = plain.fill(*run.data.train, samples);
        const torch::Tensor out =
            torch::conv2d(input_tensor(batch), mean.parameters[0], {}, 1, /*padding=*/1);
        means.push_back(out.mean({0, 2, 3}));
        variances.push_back(out.transpose(0, 1).flatten(1).var(1, /*unbiased=*/true));
    }
    CHECK(close(mean.buffers[0], torch::stack(means).mean(0)));
    CHECK(close(mean.buffers[1], torch::stack(variances).mean(0)));
}
