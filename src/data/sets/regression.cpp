#include "data/sets/regression.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/streams.hpp"
#include "data/sets/sets.hpp"

namespace dbench::data {
namespace {

using base::Json;
using base::Parameter;
using base::Random;
using base::random_stream;
using base::RegressionStream;

class Regression : public Dataset {
public:
    explicit Regression(int64_t dimension) : dimension_(dimension) {}

    // Adds a sample. Feature k has the standard deviation condition^(-k / (2 (d - 1))), so the
    // eigenvalues of the covariance fall geometrically from 1 to 1 / condition.
    void add(Random random, const Json& spec, const std::vector<double>& optimum) {
        const auto condition = spec.at("condition").get<double>();
        const auto last = static_cast<double>(dimension_ - 1);
        double target = 0;
        for (int64_t k = 0; k < dimension_; ++k) {
            const double place = dimension_ > 1 ? static_cast<double>(k) / last : 0;
            const double feature = std::pow(condition, -place / 2) * random.normal();
            features_.push_back(feature);
            target += feature * optimum[k];
        }
        targets_.push_back(target + spec.at("noise").get<double>() * random.normal());
    }

    int64_t size() const override { return static_cast<int64_t>(targets_.size()); }
    std::vector<int64_t> shape() const override { return {dimension_}; }
    int64_t classes() const override { return 0; }
    int64_t label(int64_t) const override {
        DBENCH_EXPECT(false);
        return 0;
    }
    double target(int64_t index) const override { return targets_[index]; }
    void input(int64_t index, arena::DType type, Order, uint64_t, void* out) const override {
        DBENCH_EXPECT(index >= 0 && index < size());
        const double* from = features_.data() + index * dimension_;
        arena::with_type(type, [&]<class T>() {
            std::transform(from, from + dimension_, static_cast<T*>(out),
                           [](double value) { return static_cast<T>(value); });
        });
    }

private:
    int64_t dimension_;
    std::vector<double> features_;  // (N, dimension).
    std::vector<double> targets_;   // (N).
};

DataSets make_regression(const Json& spec, const DataContext& context) {
    const auto samples = spec.at("samples").get<uint64_t>();
    const auto dimension = spec.at("dimension").get<int64_t>();
    auto train = std::make_shared<Regression>(dimension);
    for (int64_t i = 0; i < context.replicas; ++i) {
        const auto optimum = regression_optimum(spec, context.seed, i);
        for (uint64_t k = 0; k < samples; ++k) {
            train->add(random_stream(context.seed, RegressionStream::train_sample, i, k), spec,
                       optimum);
        }
    }
    auto test = std::make_shared<Regression>(dimension);
    const auto common = regression_optimum(spec, context.seed, -1);
    for (uint64_t k = 0; k < spec.at("test").get<uint64_t>(); ++k) {
        test->add(random_stream(context.seed, RegressionStream::test_sample, k), spec, common);
    }
    DataSets sets;
    sets.train = std::move(train);
    sets.test = std::move(test);
    return sets;
}

}  // namespace

std::vector<double> regression_optimum(const Json& spec, uint64_t seed, int64_t replica) {
    std::vector<double> optimum(spec.at("dimension").get<size_t>());
    Random common = random_stream(seed, RegressionStream::common_optimum);
    for (double& each : optimum) each = common.normal();
    if (replica < 0) return optimum;
    const auto heterogeneity = spec.at("heterogeneity").get<double>();
    Random own = random_stream(seed, RegressionStream::own_optimum, replica);
    for (double& each : optimum) each += heterogeneity * own.normal();
    return optimum;
}

DataEntry regression_data() {
    return {
        {"regression",
         "generated linear regression; with the partition contiguous, every replica has its own "
         "optimum",
         {Parameter::integer("samples", "64", "training samples per replica")
              .at_least(1)
              .at_most(1e7),
          Parameter::integer("dimension", "20", "features").at_least(1).at_most(1e6),
          Parameter::number("heterogeneity", "1",
                            "how far the optimum of a replica is from the common one")
              .at_least(0),
          Parameter::number("noise", "0.1", "standard deviation of the targets' noise").at_least(0),
          Parameter::number("condition", "10", "condition number of the features' covariance")
              .at_least(1),
          Parameter::integer("test", "256", "test samples, from the common optimum").at_least(1)}},
        false,
        make_regression,
        nullptr};
}

}  // namespace dbench::data
