#include "base/error.hpp"
#include "base/random.hpp"
#include "data/loader.hpp"

namespace dbench::data {
namespace {

// Memory as wide as a token.
constexpr arena::DType kTokenBytes = arena::DType::float64;
static_assert(sizeof(int64_t) == sizeof(double));

// Grows only: a short last batch keeps the memory of the long ones.
void reserve(arena::Buffer& buffer, arena::DType type, int64_t count) {
    if (buffer.rows().stride < count) buffer = arena::Buffer(type, 0, 1, count);
}

}  // namespace

BatchBuffer::BatchBuffer(arena::DType type, Order order) {
    batch_.type = type;
    batch_.order = order;
}

void BatchBuffer::start(const Dataset& data, int64_t count, bool continues) {
    const std::vector<int64_t> shape = data.shape();
    numel_ = numel(shape);
    labels_of_ = numel(data.label_shape());
    batch_.count = count;
    batch_.tokens = data.tokens();
    batch_.terms = count * labels_of_;
    batch_.continues = continues;
    batch_.shape.assign(1, count);
    batch_.shape.insert(batch_.shape.end(), shape.begin(), shape.end());
    reserve(inputs_, batch_.tokens ? kTokenBytes : batch_.type, count * numel_);
    batch_.inputs = inputs_.rows().data;
    if (data.classes() > 0) {
        labels_.resize(static_cast<size_t>(batch_.terms));
        batch_.labels = labels_.data();
        batch_.targets = nullptr;
    } else {
        reserve(targets_, batch_.type, count);
        batch_.labels = nullptr;
        batch_.targets = targets_.rows().data;
    }
}

void BatchBuffer::put(int64_t position, const Dataset& data, int64_t index, uint64_t augment_key) {
    DBENCH_EXPECT(position >= 0 && position < batch_.count);
    data.input(index, batch_.type, batch_.order, augment_key,
               inputs_.rows().at(0, position * numel_));
    if (batch_.labels != nullptr) {
        data.labels(index, labels_.data() + position * labels_of_);
    } else if (batch_.type == arena::DType::float32) {
        targets_.rows().row<float>(0)[position] = static_cast<float>(data.target(index));
    } else {
        targets_.rows().row<double>(0)[position] = data.target(index);
    }
}

const Batch& PlainBatches::fill(const Dataset& data, int64_t first, int64_t count) {
    buffer_.start(data, count);
    team_.each(count, [&](int64_t k) { buffer_.put(k, data, first + k, 0); });
    return buffer_.batch();
}

uint64_t augment_key(uint64_t augment_seed, int64_t epoch, int64_t sample) {
    base::Random random(augment_seed, base::Purpose::augment,
                        {static_cast<uint64_t>(epoch), static_cast<uint64_t>(sample)});
    const uint64_t key = random.bits64();
    return key != 0 ? key : 1;
}

}  // namespace dbench::data
