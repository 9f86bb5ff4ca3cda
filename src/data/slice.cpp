#include "data/slice.hpp"

#include <utility>

#include "base/error.hpp"

namespace dbench::data {
namespace {

class Slice : public Dataset {
public:
    Slice(std::shared_ptr<const Dataset> whole, int64_t first, int64_t count)
        : whole_(std::move(whole)), first_(first), count_(count) {
        DBENCH_EXPECT(first >= 0 && count >= 0 && first + count <= whole_->size());
    }

    int64_t size() const override { return count_; }
    std::vector<int64_t> shape() const override { return whole_->shape(); }
    bool tokens() const override { return whole_->tokens(); }
    int64_t classes() const override { return whole_->classes(); }
    std::vector<int64_t> label_shape() const override { return whole_->label_shape(); }
    void input(int64_t index, arena::DType type, Order order, uint64_t augment_key,
               void* out) const override {
        DBENCH_EXPECT(index >= 0 && index < count_);
        whole_->input(first_ + index, type, order, augment_key, out);
    }
    std::optional<StoredImages> stored() const override {
        std::optional<StoredImages> images = whole_->stored();
        if (images) {
            images->pictures.bytes += first_ * images->pictures.numel();
            images->pictures.count = count_;
        }
        return images;
    }
    int64_t label(int64_t index) const override { return whole_->label(first_ + index); }
    void labels(int64_t index, int64_t* out) const override { whole_->labels(first_ + index, out); }
    double target(int64_t index) const override { return whole_->target(first_ + index); }
    bool ragged() const override { return whole_->ragged(); }
    Extent extent(int64_t index) const override { return whole_->extent(first_ + index); }
    void pairs(int64_t index, int64_t length, int64_t* inputs, int64_t* labels,
               int64_t* terms) const override {
        whole_->pairs(first_ + index, length, inputs, labels, terms);
    }
    std::string text(const std::vector<int64_t>& tokens) const override {
        return whole_->text(tokens);
    }

private:
    std::shared_ptr<const Dataset> whole_;
    int64_t first_, count_;
};

}  // namespace

std::shared_ptr<const Dataset> slice(std::shared_ptr<const Dataset> whole, int64_t first,
                                     int64_t count) {
    if (first == 0 && count == whole->size()) return whole;
    return std::make_shared<Slice>(std::move(whole), first, count);
}

}  // namespace dbench::data
