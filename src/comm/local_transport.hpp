#pragma once
// Ranks inside one process: a lone process is a group of one, and threads can play ranks in tests.

#include <deque>
#include <map>
#include <mutex>
#include <tuple>

#include "comm/transport.hpp"

namespace dbench::comm {

/// The letter boxes of `size` ranks that are threads of this process.
class LocalGroup {
public:
    explicit LocalGroup(int size) : size_(size) {}

    int size() const { return size_; }
    void put(Channel channel, int from, int to, int tag, std::string bytes);
    std::optional<std::string> take(Channel channel, int from, int to, int tag);
    std::optional<Letter> take_any(Channel channel, int to);

private:
    using Box = std::tuple<Channel, int, int, int>;  // channel, to, from, tag
    int size_;
    std::mutex mutex_;
    std::map<Box, std::deque<std::string>> boxes_;
};

std::unique_ptr<Transport> local_transport(std::shared_ptr<LocalGroup> group, int rank);

}  // namespace dbench::comm
