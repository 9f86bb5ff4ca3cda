#include "arena/state.hpp"

#include <stdexcept>
#include <utility>

#include "base/error.hpp"

namespace dbench::arena {
namespace {

void refuse_second(const std::deque<StateTable::Entry>& entries, const std::string& name) {
    for (const StateTable::Entry& entry : entries) {
        if (entry.name == name) throw std::logic_error("state '" + name + "' is declared twice");
    }
}

}  // namespace

StateTable::StateTable(DType type, int64_t first, int64_t count, int64_t stride,
                       Memory peer_readable, Memories memories)
    : type_(type),
      first_(first),
      count_(count),
      stride_(stride),
      peer_readable_(std::move(peer_readable)),
      memories_(std::move(memories)) {}

Rows StateTable::declare(const std::string& name, Buffer buffer) {
    refuse_second(entries_, name);
    elements_ += buffer.rows().stride;
    const size_t size = static_cast<size_t>(buffer.bytes());
    entries_.push_back({name, std::move(buffer), nullptr, size});
    return entries_.back().buffer.rows();
}

Rows StateTable::rows(const std::string& name, int64_t stride) {
    return declare(name, memories_.rows(type_, first_, count_, stride == 0 ? stride_ : stride));
}

Rows StateTable::numbers(const std::string& name) {
    return declare(name, memories_.host_visible_rows(DType::float64, first_, count_, 1));
}

Rows StateTable::declare_parameters() {
    DBENCH_EXPECT(entries_.empty());
    Buffer buffer = peer_readable_scratch();
    elements_ -= stride_;
    return declare("parameters", std::move(buffer));
}

Buffer StateTable::scratch(int64_t stride) {
    elements_ += stride;
    return memories_.rows(type_, first_, count_, stride);
}

Buffer StateTable::host_visible_scratch(int64_t stride) {
    elements_ += stride;
    return memories_.host_visible_rows(type_, first_, count_, stride);
}

Buffer StateTable::peer_readable_scratch() {
    if (!peer_readable_) return scratch();
    elements_ += stride_;
    return {type_, first_, count_, stride_, peer_readable_};
}

void StateTable::bytes(const std::string& name, void* data, size_t bytes) {
    refuse_second(entries_, name);
    entries_.push_back({name, Buffer(), data, bytes});
}

}  // namespace dbench::arena
