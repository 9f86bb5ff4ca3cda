#pragma once
// A device that is none: its queues keep what is launched, and run it later in a random order that
// the queues and events allow, with blocks of launches side by side. It also says which launches
// touch the same memory without anything that orders them.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "arena/queue.hpp"
#include "base/random.hpp"

namespace dbench::arena {

class EmulatedDevice {
public:
    /// Of the waits for events, counted from 0, the one numbered `forgotten` is left out.
    explicit EmulatedDevice(uint64_t seed, int64_t forgotten = -1)
        : random_(seed, base::Purpose::graph), forgotten_(forgotten) {}

    Queue* add_queue() {
        queues_.push_back(std::make_unique<EmulatedQueue>(*this, static_cast<int>(queues_.size())));
        return queues_.back().get();
    }
    int64_t waits() const { return waits_; }

    /// Each pair of launches that share memory which one of them writes, and that no queue and no
    /// event orders.
    std::vector<std::string> conflicts() const {
        std::vector<std::string> found;
        for (size_t a = 0; a < launched_.size(); ++a) {
            for (size_t b = a + 1; b < launched_.size(); ++b) {
                if (!before(launched_[a], launched_[b]) && !before(launched_[b], launched_[a]) &&
                    share(launched_[a].launch, launched_[b].launch)) {
                    found.push_back(text(launched_[a]) + " and " + text(launched_[b]));
                }
            }
        }
        return found;
    }

    /// Runs all that was launched.
    void finish() {
        std::vector<Item*> running;
        std::vector<int64_t> done(queues_.size()), begun(queues_.size());
        const auto may_begin = [&](const Item& item) {
            if (begun[item.queue] != item.number) return false;
            for (size_t q = 0; q < item.after.size(); ++q) {
                if (done[q] < item.after[q]) return false;
            }
            return true;
        };
        for (size_t left = launched_.size(); left > 0;) {
            for (Item& item : launched_) {
                if (!may_begin(item)) continue;
                ++begun[item.queue];
                running.push_back(&item);
                for (int64_t k = 0; k < item.launch.blocks; ++k) item.blocks.push_back(k);
            }
            const size_t chosen = random_.below(running.size());
            Item& item = *running[chosen];
            if (!item.blocks.empty()) {
                std::swap(item.blocks[random_.below(item.blocks.size())], item.blocks.back());
                item.launch.run(item.blocks.back(), random_.below(UINT64_MAX));
                item.blocks.pop_back();
            }
            if (!item.blocks.empty()) continue;
            ++done[item.queue];
            running.erase(running.begin() + static_cast<std::ptrdiff_t>(chosen));
            --left;
        }
        launched_.clear();
        for (const auto& queue : queues_) queue->restart();
    }

private:
    struct Item {
        Launch launch;
        int queue;
        int64_t number;              // on its queue
        std::vector<int64_t> after;  // so many launches of each queue come before it
        std::vector<int64_t> blocks;
    };

    class EmulatedQueue : public Queue {
    public:
        EmulatedQueue(EmulatedDevice& device, int number) : device_(device), number_(number) {}
        void launch(Launch launch) override {
            raise(number_, launches_);
            device_.launched_.push_back({std::move(launch), number_, launches_++, after_, {}});
        }
        Event record() override { return {number_, launches_}; }
        void wait(Event event) override {
            if (device_.waits_++ == device_.forgotten_) return;
            raise(event.queue, event.launches);
            for (const Item& item : device_.launched_) {
                if (item.queue != event.queue || item.number >= event.launches) continue;
                for (size_t q = 0; q < item.after.size(); ++q) {
                    raise(static_cast<int>(q), item.after[q]);
                }
            }
        }
        void restart() {
            launches_ = 0;
            after_.clear();
        }

    private:
        void raise(int queue, int64_t launches) {
            const auto q = static_cast<size_t>(queue);
            if (after_.size() <= q) after_.resize(q + 1);
            after_[q] = std::max(after_[q], launches);
        }

        EmulatedDevice& device_;
        int number_;
        int64_t launches_ = 0;
        std::vector<int64_t> after_;
    };

    static bool before(const Item& a, const Item& b) {
        const auto q = static_cast<size_t>(a.queue);
        return q < b.after.size() && b.after[q] > a.number;
    }
    static bool share(const Launch& a, const Launch& b) {
        for (const Access& x : a.accesses) {
            for (const Access& y : b.accesses) {
                if ((x.writes || y.writes) && overlap(x, y)) return true;
            }
        }
        return false;
    }
    static std::string text(const Item& item) {
        return item.launch.name + " (queue " + std::to_string(item.queue) + ", launch " +
               std::to_string(item.number) + ")";
    }

    base::Random random_;
    int64_t forgotten_, waits_ = 0;
    std::vector<std::unique_ptr<EmulatedQueue>> queues_;
    std::vector<Item> launched_;
};

}  // namespace dbench::arena
