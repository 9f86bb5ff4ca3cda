#include "conform/recursion.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace dbench::conform {

Recursion::Recursion(std::unique_ptr<Reference> reference, Rounds w, Weights mean,
                     Eigen::Index columns)
    : reference_(std::move(reference)),
      iteration_{0, 1.0, std::move(w), std::move(mean),
                 [](const Matrix& x) { return Matrix(Matrix::Zero(x.rows(), x.cols())); }},
      x_(Matrix::Zero(iteration_.mean.rows(), columns)) {
    iteration_.distillation = [](const Matrix& student, const Matrix&, double) {
        return Matrix(Matrix::Zero(student.rows(), student.cols()));
    };
    iteration_.around = [](int64_t, const Eigen::VectorXd& x) {
        const Matrix none = Matrix::Zero(1, 1);
        return Around{{Matrix::Zero(1, x.size())}, none, none, false};
    };
    iteration_.loss = [](int64_t, const Eigen::VectorXd&) { return 0.0; };
    do {
        step();
    } while (iteration_.t % reference_->cycle() != 0);
}

void Recursion::step() {
    reference_->step(iteration_, x_);
    ++iteration_.t;
}

bool only_local_steps_between_exchanges(const base::Json& algorithm) {
    const auto type = algorithm.at("type").get<std::string>();
    if (type == "diloco")
        return algorithm.at("gpus_per_node") == 1;  // otherwise nodes average in between
    return type == "local_sgd" || type == "noloco" || type == "gasloc" || type == "feddkd";
}

std::unique_ptr<Reference> recursion_of(const base::Json& algorithm, int64_t replicas,
                                        int64_t columns) {
    base::Json each = algorithm;
    if (only_local_steps_between_exchanges(algorithm)) each["period"] = 1;
    if (each.contains("fragments"))
        each["fragments"] = 1, each["delay"] = 0;  // all fragments behave alike
    if (each.contains("max_rounds"))
        each["max_rounds"] = 1;  // more rounds only bring replicas closer
    return make_reference(each, {{"type", "sgd"}}, {replicas, columns});
}

}  // namespace dbench::conform
