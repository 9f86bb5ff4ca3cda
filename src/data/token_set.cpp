#include "data/token_set.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace dbench::data {
namespace {

class TokenSet : public Dataset {
public:
    TokenSet(std::vector<int32_t> tokens, int64_t vocabulary, int64_t length)
        : tokens_(std::move(tokens)), vocabulary_(vocabulary), length_(length) {}

    int64_t size() const override { return (static_cast<int64_t>(tokens_.size()) - 1) / length_; }
    std::vector<int64_t> shape() const override { return {length_}; }
    bool tokens() const override { return true; }
    int64_t classes() const override { return vocabulary_; }
    std::vector<int64_t> label_shape() const override { return {length_}; }
    void input(int64_t index, arena::DType, Order, uint64_t, void* out) const override {
        copy(index, 0, static_cast<int64_t*>(out));
    }
    void labels(int64_t index, int64_t* out) const override { copy(index, 1, out); }
    int64_t label(int64_t) const override {
        DBENCH_EXPECT(false);
        return 0;
    }
    double target(int64_t) const override {
        DBENCH_EXPECT(false);
        return 0;
    }

private:
    void copy(int64_t index, int64_t shift, int64_t* out) const {
        DBENCH_EXPECT(index >= 0 && index < size());
        std::copy_n(tokens_.begin() + index * length_ + shift, length_, out);
    }

    std::vector<int32_t> tokens_;
    int64_t vocabulary_, length_;
};

}  // namespace

std::shared_ptr<const Dataset> token_set(std::vector<int32_t> tokens, int64_t vocabulary,
                                         int64_t length, const std::string& path) {
    const auto count = static_cast<int64_t>(tokens.size());
    if (count <= length) {
        throw base::UserError(
            path + ": holds " + std::to_string(count) + " tokens, and a window of " +
            std::to_string(length) +
            " needs one more than its length: choose a shorter /data/sequence, or "
            "a longer text");
    }
    return std::make_shared<TokenSet>(std::move(tokens), vocabulary, length);
}

base::Parameter sequence_parameter() {
    return base::Parameter::integer("sequence", "35", "tokens per sample").at_least(1).at_most(1e6);
}

}  // namespace dbench::data
