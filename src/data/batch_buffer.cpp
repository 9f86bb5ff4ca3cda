// Filling the memory of one batch (BatchBuffer, PlainBatches) and dividing a batch into
// micro-batches.

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/error.hpp"
#include "base/random.hpp"
#include "data/images.hpp"
#include "data/loader.hpp"

namespace dbench::data {
namespace {

// A type as wide as a token, to allocate memory for tokens.
constexpr arena::DType kTokenBytes = arena::DType::float64;
static_assert(sizeof(int64_t) == sizeof(double));

// The memory only grows: a short last batch keeps the memory of the long ones.
void reserve(arena::Buffer& buffer, arena::DType type, int64_t count) {
    if (buffer.rows().stride >= count) return;
    buffer = arena::Buffer(type, 0, 1, count);
}

}  // namespace

BatchBuffer::BatchBuffer(arena::DType type, Order order, Contents contents) : contents_(contents) {
    batch_.type = type;
    batch_.order = order;
}

void BatchBuffer::start(const Dataset& data, const std::vector<int64_t>& samples, bool continues) {
    std::vector<int64_t> shape = data.shape();
    batch_.count = batch_.terms = 0;
    places_.clear();
    int64_t longest = 0;
    for (const int64_t sample : samples) {
        places_.push_back({batch_.count, batch_.terms});
        const Extent extent = data.extent(sample);
        batch_.count += extent.rows;
        batch_.terms += extent.terms;
        longest = std::max(longest, extent.length);
    }
    if (data.ragged()) shape.back() = longest;
    batch_.row_terms.assign(data.ragged() ? static_cast<size_t>(batch_.count) : 0, 0);
    numel_ = numel(shape);
    batch_.tokens = data.tokens();
    batch_.continues = continues;
    batch_.shape.assign(1, batch_.count);
    batch_.shape.insert(batch_.shape.end(), shape.begin(), shape.end());
    if (contents_ == Contents::windows) {
        batch_.windows.resize(static_cast<size_t>(batch_.count));
    } else {
        reserve(inputs_, batch_.tokens ? kTokenBytes : batch_.type, batch_.count * numel_);
        batch_.inputs = inputs_.rows().data;
    }
    if (data.classes() > 0) {
        labels_.resize(static_cast<size_t>(batch_.terms));
        batch_.labels = labels_.data();
        batch_.targets = nullptr;
    } else {
        reserve(targets_, batch_.type, batch_.count);
        batch_.labels = nullptr;
        batch_.targets = targets_.rows().data;
    }
}

void BatchBuffer::put(int64_t position, const Dataset& data, int64_t index, uint64_t augment_key) {
    DBENCH_EXPECT(position < static_cast<int64_t>(places_.size()));
    const auto [row, term] = places_[position];
    int64_t* const labels = labels_.data() + term;
    if (contents_ == Contents::windows) {
        batch_.windows[static_cast<size_t>(row)] = window_of(index, augment_key);
    } else {
        void* const input = inputs_.rows().at(0, row * numel_);
        if (data.ragged()) {
            data.pairs(index, batch_.shape.back(), static_cast<int64_t*>(input), labels,
                       batch_.row_terms.data() + row);
            return;
        }
        data.input(index, batch_.type, batch_.order, augment_key, input);
    }
    if (batch_.labels != nullptr) {
        data.labels(index, labels);
    } else if (batch_.type == arena::DType::float32) {
        targets_.rows().row<float>(0)[row] = static_cast<float>(data.target(index));
    } else {
        targets_.rows().row<double>(0)[row] = data.target(index);
    }
}

Batch microbatch(const Batch& batch, int64_t k, int64_t microbatches) {
    const int64_t first = k * batch.count / microbatches,
                  last = (k + 1) * batch.count / microbatches;
    const auto terms_before = [&](int64_t row) {
        if (batch.row_terms.empty()) return row * (batch.terms / batch.count);
        return std::accumulate(batch.row_terms.begin(), batch.row_terms.begin() + row, int64_t{0});
    };
    const int64_t element = batch.tokens ? sizeof(int64_t) : size_of(batch.type);
    Batch out = batch;
    out.count = out.shape[0] = last - first;
    out.terms = terms_before(last) - terms_before(first);
    out.inputs = static_cast<std::byte*>(batch.inputs) +
                 first * element * (numel(batch.shape) / batch.count);
    out.windows.clear();  // The inputs are in memory already.
    if (batch.labels) out.labels += terms_before(first);
    if (batch.targets) {
        out.targets = static_cast<const std::byte*>(batch.targets) + first * size_of(batch.type);
    }
    if (!batch.row_terms.empty()) {
        out.row_terms.assign(batch.row_terms.begin() + first, batch.row_terms.begin() + last);
    }
    return out;
}

const Batch& PlainBatches::fill(const Dataset& data, int64_t first, int64_t count) {
    std::vector<int64_t> samples(static_cast<size_t>(count));
    std::iota(samples.begin(), samples.end(), first);
    return fill(data, samples);
}

const Batch& PlainBatches::fill(const Dataset& data, const std::vector<int64_t>& samples) {
    buffer_.start(data, samples);
    pool_.parallel_for(std::ssize(samples), [&](int64_t k) {
        buffer_.put(k, data, samples[static_cast<size_t>(k)], 0);
    });
    return buffer_.batch();
}

uint64_t augment_key(uint64_t augment_seed, int64_t epoch, int64_t sample) {
    base::Random random(augment_seed, base::Purpose::augment,
                        {static_cast<uint64_t>(epoch), static_cast<uint64_t>(sample)});
    const uint64_t key = random.bits64();
    return key != 0 ? key : 1;
}

}  // namespace dbench::data
