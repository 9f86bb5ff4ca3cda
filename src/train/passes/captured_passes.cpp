#include "train/passes/captured_passes.hpp"

#include <utility>

#include "arena/kernels.hpp"
#include "base/error.hpp"

namespace dbench::train {

CapturedPasses::CapturedPasses(Device& device, torch::Device torch_device, int64_t replicas,
                               bool together, int64_t most)
    : device_(device),
      torch_device_(torch_device),
      replicas_(replicas),
      passes_per_address_(together ? 1 : replicas),
      most_(most),
      scores_(device.place().values<double>(static_cast<size_t>(2 * replicas))) {}

bool CapturedPasses::begin(const void* x) {
    here_ = nullptr;
    if (failed_) {
        drop();
        return false;
    }
    if (warmed_ < kWarm) {
        ++warmed_;
        return false;
    }
    const auto known = passes_.find(x);
    if (known != passes_.end()) {
        here_ = &known->second;
        return true;
    }
    const auto addresses = static_cast<int64_t>(passes_.size()) + 1;
    if (addresses * passes_per_address_ > most_) {
        obstacle_ = std::to_string(replicas_) + " replicas of a rank with parameters in " +
                    std::to_string(addresses) + (addresses == 1 ? " place" : " places") +
                    " need more than " + std::to_string(most_) + " captured passes";
        return false;
    }
    here_ = &passes_[x];
    here_->resize(static_cast<size_t>(passes_per_address_));
    return true;
}

void CapturedPasses::drop() {
    if (passes_.empty()) return;
    arena::finish(device_.place().compute(), "captured passes that are released");
    passes_.clear();
    device_.release_cached_memory();
}

CapturedWork* CapturedPasses::submit(int64_t i, const data::Batch& batch, arena::Queue& queue,
                                     const Capture& capture) {
    if (failed_) return nullptr;
    Pass& pass = here_->at(static_cast<size_t>(i));
    if (!pass.work) {
        try {
            pass.batch = FixedBatch::make_on(queue, device_, batch, torch_device_);
            pass.work = capture(*pass.batch);
        } catch (const base::RunError& error) {
            failed_ = true;
            obstacle_ = error.what();
            return nullptr;
        }
    }
    if (!pass.batch->fits(batch)) return nullptr;
    const FixedBatch* const fixed = pass.batch.get();
    device_.submit(
        "minibatch", [&] { return fixed->filled_from(batch); },
        [fixed, from = &batch] { fixed->fill(*from); }, queue);
    pass.work->replay();
    return pass.work.get();
}

void CapturedPasses::copy_scores(double* loss, double* accuracy) {
    for (const auto& [from, to] : {std::pair(this->loss(), loss), {this->accuracy(), accuracy}}) {
        const arena::Rows row{from, arena::DType::float64, arena::Space::host, 0, 1, replicas_};
        arena::Rows out = row;
        out.data = to;
        arena::copy(row, out, {0, replicas_}, device_.place().compute());
    }
}

}  // namespace dbench::train
