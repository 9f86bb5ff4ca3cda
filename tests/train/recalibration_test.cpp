// BatchNorm statistics of the mean model, recomputed from the training set.

#include <cmath>

#include "catch.hpp"
#include "comm/transport/launcher.hpp"
#include "data/loader.hpp"
#include "model_fixture.hpp"
#include "train/evaluation/mean_model.hpp"
#include "train/replicas.hpp"

using namespace dbench;
using namespace dbench::train;

namespace {

const ModelContext kContext{{3, 8, 8}, 10};

/// A data set with inputs so large that a convolution's outputs have a variance of about 1e7.
class Bright final : public data::Dataset {
public:
    int64_t size() const override { return 24; }
    std::vector<int64_t> shape() const override { return kContext.input_shape; }
    int64_t classes() const override { return kContext.classes; }
    void input(int64_t index, arena::DType type, data::Order, uint64_t, void* out) const override {
        arena::with_type(type, [&]<class T>() {
            for (int64_t k = 0; k < 3 * 8 * 8; ++k) {
                const double at = static_cast<double>(index * 3 * 8 * 8 + k);
                static_cast<T*>(out)[k] = static_cast<T>(10000 * std::sin(at * at));
            }
        });
    }
    int64_t label(int64_t index) const override { return index % 10; }
    double target(int64_t) const override { return 0; }
};

}  // namespace

TEST_CASE("Recalibrated statistics are those of the batches, however large they are") {
    const auto model = make_model(R"("resnet20")", kContext);
    comm::World world{comm::alone()};
    const comm::Placement placement{2, 1};
    Replicas replicas(*model, placement, 0, arena::DType::float32, Init::same, 1);
    comm::Exchange exchange(world, placement, replicas.layout(), nullptr,
                            comm::Reduction::reproducible);
    MeanModel mean(world, placement, *model, replicas, exchange);
    const Bright images;
    const torch::NoGradGuard no_grad;
    for (const int64_t batch_size : {24, 8}) {
        const Weights weights = mean.recalibrated(replicas.x(), images, batch_size);
        torch::Tensor means = torch::zeros(16, torch::kFloat64), variances = means.clone();
        const int64_t batches = 24 / batch_size;
        for (int64_t b = 0; b < batches; ++b) {
            data::PlainBatches plain(arena::DType::float64, model->order());
            std::vector<int64_t> samples;
            for (int64_t k = b; k < 24; k += batches) samples.push_back(k);
            const torch::Tensor x = input_tensor(plain.fill(images, samples));
            const torch::Tensor w = weights.parameters[0].to(torch::kFloat64);
            const torch::Tensor y = torch::conv2d(x, w, {}, 1, 1).permute({1, 0, 2, 3}).flatten(1);
            means += y.mean(1) * double(batch_size) / 24;
            variances += y.var(1, true) * double(batch_size) / 24;
        }
        const double largest = variances.max().item<double>();
        CHECK(largest > 5e6);
        const auto near = [&](const torch::Tensor& found, const torch::Tensor& right, double size) {
            return (found.to(torch::kFloat64) - right).abs().max().item<double>() < 1e-5 * size;
        };
        CHECK(near(weights.buffers[0], means, std::sqrt(largest)));
        CHECK(near(weights.buffers[1] / variances, torch::ones_like(variances), 1));
    }
}
