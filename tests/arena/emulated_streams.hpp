#pragma once
// The streams of an emulated device. Launches and copies run late; an event passes some time after
// it was first queried.

#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "arena/device/streams.hpp"
#include "arena/emulated_device.hpp"

namespace dbench::arena {

class EmulatedStreams final : public Streams {
public:
    explicit EmulatedStreams(EmulatedDevice& device, uint64_t seed = 1)
        : device_(device), random_(seed, base::Purpose::graph) {}

    void* add_stream() { return &device_.add_queue(); }
    /// Lets events pass after some queries (true), or never (false).
    void set_events_pass(bool passes) { passes_ = passes; }
    /// Number of copies that exist.
    int64_t copies() const { return static_cast<int64_t>(copies_.size()); }

    bool emulated() const override { return true; }
    void launch(void* stream, Launch launch) override { queue(stream)->launch(std::move(launch)); }

    void* make_event() override { return new Mark; }
    void destroy_event(void* event) override { delete static_cast<Mark*>(event); }
    void record(void* event, void* stream) override {
        *static_cast<Mark*>(event) = {queue(stream), queue(stream)->record()};
    }
    bool passed(void* event) override {
        const std::lock_guard lock(mutex_);
        const Mark& mark = *static_cast<Mark*>(event);
        if (device_.has_run(mark.event)) return true;
        if (!passes_ || random_.below(4) > 0) return false;
        return device_.advance(mark.event);
    }
    std::shared_ptr<const Timestamp> timestamp(void* stream) override {
        return queue(stream)->timestamp();
    }
    void wait(void* stream, void* event) override {
        queue(stream)->wait(static_cast<Mark*>(event)->event, "a mark");
    }

    void* copy(const void* data, int64_t bytes, void* stream) override {
        constexpr int kNothing = 0xff;
        const auto size = static_cast<size_t>(bytes);
        const auto from = std::make_shared<std::vector<char>>(size);
        std::memcpy(from->data(), data, size);
        char* const memory = new char[size];
        std::memset(memory, kNothing, size);
        const std::lock_guard lock(mutex_);
        copies_.insert(memory);
        queue(stream)->launch({"read-only copy", {}, 1, [=](int64_t, uint64_t) {
                                   std::memcpy(memory, from->data(), size);
                               }});
        return memory;
    }
    void free_copy(void* memory) override {
        const std::lock_guard lock(mutex_);
        copies_.erase(static_cast<char*>(memory));
        delete[] static_cast<char*>(memory);
    }

private:
    struct Mark {
        Queue* queue = nullptr;
        Event event{};
    };
    static Queue* queue(void* stream) { return static_cast<Queue*>(stream); }

    EmulatedDevice& device_;
    std::mutex mutex_;
    base::Random random_;
    bool passes_ = true;
    std::set<char*> copies_;
};

}  // namespace dbench::arena
