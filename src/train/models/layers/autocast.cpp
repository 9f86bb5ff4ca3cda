#include "train/models/layers/autocast.hpp"

#include <ATen/autocast_mode.h>

#include <utility>

namespace dbench::train {
namespace {

/// Enables autocast to bfloat16 on a device, for this thread, during its lifetime. Rounded weights
/// are cached as long, for layers that a pass uses more than once.
class Bfloat16 {
public:
    explicit Bfloat16(c10::DeviceType device) : device_(device) {
        at::autocast::set_autocast_dtype(device_, at::kBFloat16);
        at::autocast::set_autocast_enabled(device_, true);
        at::autocast::increment_nesting();
    }
    ~Bfloat16() {
        at::autocast::decrement_nesting();
        at::autocast::clear_cache();
        at::autocast::set_autocast_enabled(device_, false);
    }
    Bfloat16(const Bfloat16&) = delete;
    Bfloat16& operator=(const Bfloat16&) = delete;

private:
    c10::DeviceType device_;
};

class Autocast : public Model {
public:
    explicit Autocast(std::unique_ptr<Model> model) : model_(std::move(model)) {
        declaration_ = model_->declaration();
    }

    torch::Tensor forward(const Weights& weights, const torch::Tensor& input,
                          bool training) const override {
        Weights rounded = weights;
        rounded.gradients.clear();  // A layer would write a bfloat16 gradient there.
        const Bfloat16 products(input.device().type());
        return model_->forward(rounded, input, training).to(torch::kFloat32);
    }
    torch::Tensor forward_terms(const Weights& weights, const torch::Tensor& input, int64_t terms,
                                bool training) const override {
        Weights rounded = weights;
        rounded.gradients.clear();
        const Bfloat16 products(input.device().type());
        return model_->forward_terms(rounded, input, terms, training).to(torch::kFloat32);
    }
    torch::Tensor loss(const torch::Tensor& output, const data::Batch& batch,
                       double smoothing) const override {
        return model_->loss(output, batch, smoothing);
    }
    torch::Tensor term_losses(const torch::Tensor& output, const data::Batch& batch,
                              double smoothing) const override {
        return model_->term_losses(output, batch, smoothing);
    }
    torch::Tensor distance(const torch::Tensor& output, const torch::Tensor& teacher,
                           double temperature) const override {
        return model_->distance(output, teacher, temperature);
    }
    torch::Tensor logits(const torch::Tensor& output) const override {
        return model_->logits(output);
    }
    double correct(const torch::Tensor& output, const data::Batch& batch,
                   int64_t top) const override {
        return model_->correct(output, batch, top);
    }
    std::vector<std::vector<int64_t>> translate(const Weights& weights,
                                                const torch::Tensor& input) const override {
        const Bfloat16 products(input.device().type());
        return model_->translate(weights, input);
    }
    data::Order order() const override { return model_->order(); }

private:
    std::unique_ptr<Model> model_;
};

}  // namespace

std::unique_ptr<Model> autocast(std::unique_ptr<Model> model) {
    return std::make_unique<Autocast>(std::move(model));
}

}  // namespace dbench::train
