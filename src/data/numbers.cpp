#include "data/numbers.hpp"

#include <functional>
#include <numeric>
#include <utility>

#include "base/error.hpp"

namespace dbench::data {
namespace {

class NumberSet : public Dataset {
public:
    NumberSet(std::vector<double> values, std::vector<int64_t> shape, std::vector<double> targets,
              int64_t classes)
        : shape_(std::move(shape)),
          numel_(std::accumulate(shape_.begin(), shape_.end(), int64_t{1}, std::multiplies<>())),
          classes_(classes),
          values_(std::move(values)),
          targets_(std::move(targets)) {
        DBENCH_EXPECT(static_cast<int64_t>(values_.size()) == size() * numel_);
    }

    int64_t size() const override { return static_cast<int64_t>(targets_.size()); }
    std::vector<int64_t> shape() const override { return shape_; }
    int64_t classes() const override { return classes_; }
    int64_t label(int64_t index) const override {
        DBENCH_EXPECT(classes_ > 0);
        return static_cast<int64_t>(targets_[index]);
    }
    double target(int64_t index) const override { return targets_[index]; }

    void input(int64_t index, arena::DType type, Order order, uint64_t, void* out) const override {
        DBENCH_EXPECT(index >= 0 && index < size());
        const bool last = order == Order::channels_last && shape_.size() == 3;
        const int64_t channels = last ? shape_[0] : 1, area = numel_ / channels;
        const double* from = values_.data() + index * numel_;
        arena::with_type(type, [&]<class T>() {
            T* to = static_cast<T*>(out);
            for (int64_t c = 0; c < channels; ++c) {
                for (int64_t p = 0; p < area; ++p) {
                    to[p * channels + c] = static_cast<T>(from[c * area + p]);
                }
            }
        });
    }

private:
    std::vector<int64_t> shape_;
    int64_t numel_, classes_;
    std::vector<double> values_, targets_;
};

}  // namespace

std::shared_ptr<const Dataset> number_set(std::vector<double> values, std::vector<int64_t> shape,
                                          std::vector<double> targets, int64_t classes) {
    return std::make_shared<NumberSet>(std::move(values), std::move(shape), std::move(targets),
                                       classes);
}

}  // namespace dbench::data
