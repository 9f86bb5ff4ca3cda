#include "data/sets/regression.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/streams.hpp"
#include "data/sets/sets.hpp"

namespace dbench::data {
namespace {

using base::Parameter;
using base::Random;
using base::random_stream;
using base::RegressionStream;

class Regression : public Dataset {
public:
    explicit Regression(int64_t dimension) : dimension_(dimension) {}

    // Adds a sample. Feature k has the standard deviation condition^(-k / (2 (d - 1))), so the
    // eigenvalues of the covariance fall geometrically from 1 to 1 / condition.
    void add(Random random, const RegressionSpec& spec, const std::vector<double>& optimum) {
        const auto last = static_cast<double>(dimension_ - 1);
        double target = 0;
        for (int64_t k = 0; k < dimension_; ++k) {
            const double place = dimension_ > 1 ? static_cast<double>(k) / last : 0;
            const double feature = std::pow(spec.condition, -place / 2) * random.normal();
            features_.push_back(feature);
            target += feature * optimum[k];
        }
        targets_.push_back(target + spec.noise * random.normal());
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

DataSets make_regression(const RegressionSpec& spec, const DataSpec&, const DataContext& context) {
    auto train = std::make_shared<Regression>(spec.dimension);
    for (int64_t i = 0; i < context.replicas; ++i) {
        const auto optimum = regression_optimum(spec, context.seed, i);
        for (int64_t k = 0; k < spec.samples; ++k) {
            train->add(random_stream(context.seed, RegressionStream::train_sample, i, k), spec,
                       optimum);
        }
    }
    auto test = std::make_shared<Regression>(spec.dimension);
    const auto common = regression_optimum(spec, context.seed, -1);
    for (int64_t k = 0; k < spec.test; ++k) {
        test->add(random_stream(context.seed, RegressionStream::test_sample, k), spec, common);
    }
    DataSets sets;
    sets.train = std::move(train);
    sets.test = std::move(test);
    return sets;
}

}  // namespace

const base::Section<RegressionSpec>& RegressionSpec::section() {
    using S = RegressionSpec;
    static const base::Section<S> keys{
        {Parameter::integer("samples", "64", "training samples per replica")
             .at_least(1)
             .at_most(1e7),
         &S::samples},
        {Parameter::integer("dimension", "20", "features").at_least(1).at_most(1e6), &S::dimension},
        {Parameter::number("heterogeneity", "1",
                           "how far the optimum of a replica is from the common one")
             .at_least(0),
         &S::heterogeneity},
        {Parameter::number("noise", "0.1", "standard deviation of the targets' noise").at_least(0),
         &S::noise},
        {Parameter::number("condition", "10", "condition number of the features' covariance")
             .at_least(1),
         &S::condition},
        {Parameter::integer("test", "256", "test samples, from the common optimum").at_least(1),
         &S::test},
    };
    return keys;
}

std::vector<double> regression_optimum(const RegressionSpec& spec, uint64_t seed, int64_t replica) {
    std::vector<double> optimum(static_cast<size_t>(spec.dimension));
    Random common = random_stream(seed, RegressionStream::common_optimum);
    for (double& each : optimum) each = common.normal();
    if (replica < 0) return optimum;
    Random own = random_stream(seed, RegressionStream::own_optimum, replica);
    for (double& each : optimum) each += spec.heterogeneity * own.normal();
    return optimum;
}

DataEntry regression_data() {
    return {"regression",
            "generated linear regression; with the partition contiguous, every replica has its own "
            "optimum",
            false, make_regression, nullptr};
}

}  // namespace dbench::data
