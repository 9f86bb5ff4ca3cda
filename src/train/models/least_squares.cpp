#include <cmath>

#include "train/models/entry_helpers.hpp"

namespace dbench::train {
namespace {

/// Predicts A x without an intercept; f(x) = 1/2 ||A x - b||^2 / m over a batch of m rows of A.
class LeastSquares : public Model {
public:
    explicit LeastSquares(int64_t features) {
        const double bound = 1 / std::sqrt(static_cast<double>(features));
        weight_ = declaration_.parameter(
            {"weight", {features}, arena::TensorKind::weight, [bound](torch::Tensor& t) {
                 t.uniform_(-bound, bound);
             }});
    }

    torch::Tensor forward(const Weights& weights, const torch::Tensor& x, bool) const override {
        return torch::matmul(x.flatten(1), weights.parameters[weight_]);
    }

    torch::Tensor loss(const torch::Tensor& output, const data::Batch& batch,
                       double) const override {
        return 0.5 * torch::mse_loss(output, target_tensor(batch, output.device()));
    }

    torch::Tensor term_losses(const torch::Tensor& output, const data::Batch& batch,
                              double) const override {
        return 0.5 *
               torch::mse_loss(output, target_tensor(batch, output.device()), at::Reduction::None);
    }

    torch::Tensor distance(const torch::Tensor& output, const torch::Tensor& teacher,
                           double) const override {
        return 0.5 * torch::mse_loss(output, teacher);
    }

private:
    int weight_;
};

ModelPtr make_least_squares(const base::NoKeys&, const ModelContext& context) {
    require_targets("least_squares", context);
    return std::make_unique<LeastSquares>(input_features(context));
}

}  // namespace

ModelEntry least_squares_model() {
    return {"least_squares", "1/2 ||A x - b||^2 / m; data with real targets only",
            make_least_squares};
}

}  // namespace dbench::train
