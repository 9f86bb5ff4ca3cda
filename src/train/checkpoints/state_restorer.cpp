#include "train/checkpoints/state_restorer.hpp"

#include <algorithm>
#include <cstring>

#include "arena/device/host_rows.hpp"
#include "base/error.hpp"
#include "train/checkpoints/checkpoint_part.hpp"

namespace dbench::train {
namespace {

using arena::HostRows;
using base::RunError;

/// Adds bytes / parts to the row, element by element; copies the bits if there is one part.
void add_part(arena::Rows row, const std::string& bytes, int64_t parts) {
    if (parts == 1) {
        std::memcpy(row.data, bytes.data(), bytes.size());
        return;
    }
    arena::with_type(row.type, [&]<class T>() {
        T* to = row.row<T>(0);
        const T* from = reinterpret_cast<const T*>(bytes.data());
        for (size_t k = 0; k < bytes.size() / sizeof(T); ++k) {
            to[k] += from[k] / static_cast<T>(parts);
        }
    });
}

}  // namespace

std::pair<int64_t, int64_t> sources(int64_t begin, int64_t end, int64_t replicas,
                                    int64_t earlier_replicas) {
    const int64_t first = begin * earlier_replicas / replicas;
    if (begin == end) return {first, first};
    return {first, std::max((end - 1) * earlier_replicas / replicas + 1,
                            end * earlier_replicas / replicas)};
}

StateRestorer::StateRestorer(arena::StateTable& state, arena::Queue& queue, int64_t begin,
                             int64_t end, int64_t replicas, int64_t earlier_replicas)
    : state_(state),
      queue_(queue),
      begin_(begin),
      end_(end),
      replicas_(replicas),
      earlier_replicas_(earlier_replicas) {
    for (const auto& entry : state.entries()) {
        const arena::Rows rows = entry.buffer.rows();
        for (int64_t i = 0; i < rows.count; ++i) {
            HostRows row(rows.only(i), queue_, "", HostRows::State::replaced);
            std::memset(row.rows().data, 0, row_bytes(entry));
            row.write_back("a row that is filled");
        }
    }
}

std::pair<int64_t, int64_t> StateRestorer::sources() const {
    return train::sources(begin_, end_, replicas_, earlier_replicas_);
}

void StateRestorer::take(const std::string& name, int64_t replica, const std::string& bytes) {
    for (const auto& entry : state_.entries()) {
        if (entry.name != name) continue;
        const size_t size = entry.data ? entry.size : row_bytes(entry);
        if (size != bytes.size()) throw RunError(name + " has another size in this run");
        if (entry.data) {
            std::memcpy(entry.data, bytes.data(), size);
            return;
        }
        for (int64_t i = begin_; i < end_; ++i) {
            const auto [first, last] = train::sources(i, i + 1, replicas_, earlier_replicas_);
            if (replica < first || replica >= last) continue;
            HostRows row(entry.buffer.rows().only(i - begin_), queue_, "rows that are filled",
                         HostRows::State::settled);
            add_part(row.rows(), bytes, last - first);
            row.write_back("a row that is filled");
            ++taken_;
        }
        return;
    }
    throw RunError("this run has no state '" + name + "'");
}

void StateRestorer::finish() const {
    int64_t needed = 0;
    for (const auto& entry : state_.entries()) {
        for (int64_t i = begin_; i < end_ && !entry.data; ++i) {
            const auto [first, last] = train::sources(i, i + 1, replicas_, earlier_replicas_);
            needed += last - first;
        }
    }
    if (taken_ != needed) throw RunError("it does not contain all state of this run");
}

}  // namespace dbench::train
