#include "data/sentence_pairs.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"

namespace dbench::data {
namespace {

/// The functions that all ragged sets share.
class Ragged : public Dataset {
public:
    Ragged(int64_t longest, int64_t vocabulary) : longest_(longest), vocabulary_(vocabulary) {}

    bool ragged() const override { return true; }
    bool tokens() const override { return true; }
    std::vector<int64_t> shape() const override { return {2, longest_}; }
    std::vector<int64_t> label_shape() const override { return {longest_}; }
    int64_t classes() const override { return vocabulary_; }
    void input(int64_t, arena::DType, Order, uint64_t, void*) const override {
        DBENCH_EXPECT(false);
    }
    int64_t label(int64_t) const override {
        DBENCH_EXPECT(false);
        return 0;
    }
    double target(int64_t) const override {
        DBENCH_EXPECT(false);
        return 0;
    }

private:
    int64_t longest_, vocabulary_;
};

using Sentences = std::vector<std::vector<int32_t>>;

int64_t longest_of(const Sentences& sentences) {
    size_t longest = 0;
    for (const auto& each : sentences) longest = std::max(longest, each.size());
    return static_cast<int64_t>(longest) + 1;  // Plus kBeginToken or kEndToken.
}

class SentencePairs : public Ragged {
public:
    SentencePairs(Sentences sources, Sentences targets, std::shared_ptr<const BytePairs> pieces)
        : Ragged(std::max(longest_of(sources), longest_of(targets)), pieces->size()),
          sources_(std::move(sources)),
          targets_(std::move(targets)),
          pieces_(std::move(pieces)) {
        DBENCH_EXPECT(sources_.size() == targets_.size());
    }

    int64_t size() const override { return static_cast<int64_t>(sources_.size()); }
    Extent extent(int64_t index) const override {
        const auto source = static_cast<int64_t>(sources_[index].size()) + 1,
                   target = static_cast<int64_t>(targets_[index].size()) + 1;
        return {1, std::max(source, target), target};
    }
    void pairs(int64_t index, int64_t length, int64_t* inputs, int64_t* labels,
               int64_t* terms) const override {
        const auto& source = sources_[index];
        const auto& target = targets_[index];
        std::fill_n(inputs, 2 * length, kPadToken);
        *std::ranges::copy(source, inputs).out = kEndToken;
        inputs[length] = kBeginToken;
        std::ranges::copy(target, inputs + length + 1);
        *std::ranges::copy(target, labels).out = kEndToken;
        *terms = static_cast<int64_t>(target.size()) + 1;
    }

    std::string text(const std::vector<int64_t>& tokens) const override {
        return pieces_->decode(tokens);
    }

private:
    Sentences sources_, targets_;
    std::shared_ptr<const BytePairs> pieces_;
};

class Buckets : public Ragged {
public:
    Buckets(std::shared_ptr<const Dataset> whole, std::vector<std::vector<int64_t>> buckets)
        : Ragged(whole->shape().back(), whole->classes()),
          whole_(std::move(whole)),
          buckets_(std::move(buckets)) {}

    int64_t size() const override { return static_cast<int64_t>(buckets_.size()); }
    Extent extent(int64_t index) const override {
        Extent sum{0, 0, 0};
        for (const int64_t pair : buckets_[index]) {
            const Extent each = whole_->extent(pair);
            sum.rows += each.rows;
            sum.length = std::max(sum.length, each.length);
            sum.terms += each.terms;
        }
        return sum;
    }
    void pairs(int64_t index, int64_t length, int64_t* inputs, int64_t* labels,
               int64_t* terms) const override {
        for (const int64_t pair : buckets_[index]) {
            whole_->pairs(pair, length, inputs, labels, terms);
            inputs += 2 * length;
            labels += *terms++;
        }
    }
    std::string text(const std::vector<int64_t>& tokens) const override {
        return whole_->text(tokens);
    }

private:
    std::shared_ptr<const Dataset> whole_;
    std::vector<std::vector<int64_t>> buckets_;
};

}  // namespace

std::shared_ptr<const Dataset> sentence_pairs(const std::vector<std::string>& sources,
                                              const std::vector<std::string>& targets,
                                              std::shared_ptr<const BytePairs> pieces) {
    return std::make_shared<SentencePairs>(pieces->encode(sources), pieces->encode(targets),
                                           pieces);
}

std::shared_ptr<const Dataset> bucketed(std::shared_ptr<const Dataset> pairs, int64_t tokens) {
    std::vector<int64_t> length, order(static_cast<size_t>(pairs->size()));
    for (int64_t k = 0; k < pairs->size(); ++k) length.push_back(pairs->extent(k).length);
    std::iota(order.begin(), order.end(), int64_t{0});
    std::ranges::stable_sort(order, {}, [&](int64_t k) { return length[k]; });
    if (const int64_t longest = length[order.back()]; longest > tokens) {
        throw base::UserError("/data/batch_size/tokens: " + std::to_string(tokens) +
                              " is less than the " + std::to_string(longest) +
                              " tokens of the longest sentence: use at least that many");
    }
    std::vector<std::vector<int64_t>> buckets(1);
    for (const int64_t pair : order) {
        const auto rows = static_cast<int64_t>(buckets.back().size()) + 1;
        if (rows * length[pair] > tokens) buckets.emplace_back();
        buckets.back().push_back(pair);
    }
    return std::make_shared<Buckets>(std::move(pairs), std::move(buckets));
}

}  // namespace dbench::data
