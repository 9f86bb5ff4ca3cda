#pragma once
// Checks of opaque messages for any World. Each returns "" or a description of the error.

#include <cstring>

#include "comm/ranks.hpp"
#include "comm/schedules.hpp"

namespace dbench::comm::tests {

/// With several exchanges in flight, every replica gets the messages of its row of W, with the
/// right weights and contents.
inline std::string check_messages(World& world, const DenseSchedule& schedule) {
    const Placement placement{schedule.size(), world.size()};
    const arena::Layout layout;
    Exchange exchange(world, placement, layout, &schedule, Reduction::reproducible);
    constexpr int64_t kBytes = 13;
    const auto written = [](int64_t replica, int number) {
        std::string text = std::to_string(replica) + "/" + std::to_string(number);
        text.resize(kBytes, '.');
        return text;
    };
    std::vector<arena::Buffer> messages;
    std::vector<Token> tokens;
    for (int number = 0; number < 3; ++number) {
        messages.emplace_back(arena::DType::float32, placement.begin(world.rank()),
                              placement.count(world.rank()), 5);
        const arena::Rows rows = messages.back().rows();
        for (int64_t i = 0; i < rows.count; ++i) {
            std::memcpy(rows.at(i, 0), written(rows.first + i, number).data(), kBytes);
        }
        tokens.push_back(exchange.start_messages({0, true}, rows, kBytes));
    }
    for (const int number : {1, 0, 2}) {
        const auto heard = exchange.finish_messages(tokens[number]);
        for (size_t i = 0; i < heard.size(); ++i) {
            const auto replica = static_cast<int>(placement.begin(world.rank()) + int64_t(i));
            std::vector<double> row(static_cast<size_t>(schedule.size()));
            for (const UsedMessage& one : heard[i]) {
                row[one.replica] += one.weight;
                if (std::string(one.message, kBytes) != written(one.replica, number)) {
                    return "replica " + std::to_string(replica) + " hears '" +
                           std::string(one.message, kBytes) + "' from " +
                           std::to_string(one.replica);
                }
            }
            if (row != schedule.matrix()[replica]) {
                return "replica " + std::to_string(replica) + " does not get its row";
            }
        }
    }
    return "";
}

/// Every replica gets over each link the message that was written for it, and none from itself.
inline std::string check_link_messages(World& world, const DenseSchedule& schedule) {
    const Placement placement{schedule.size(), world.size()};
    const arena::Layout layout;
    Exchange exchange(world, placement, layout, &schedule, Reduction::reproducible);
    constexpr int64_t kBytes = 11;
    const auto written = [](int64_t from, int64_t to, int number) {
        std::string text =
            std::to_string(from) + ">" + std::to_string(to) + "/" + std::to_string(number);
        text.resize(kBytes, '.');
        return text;
    };
    std::vector<arena::Buffer> messages;
    std::vector<Token> tokens;
    for (int number = 0; number < 2; ++number) {
        messages.emplace_back(arena::DType::float32, placement.begin(world.rank()),
                              placement.count(world.rank()), 3 * schedule.size());
        const arena::Rows rows = messages.back().rows();
        for (int64_t i = 0; i < rows.count; ++i) {
            char* to = rows.at(i, 0);
            for (const graphs::Link& link : schedule.out({0, true}, int(rows.first + i))) {
                if (link.peer == rows.first + i) continue;
                std::memcpy(to, written(rows.first + i, link.peer, number).data(), kBytes);
                to += kBytes;
            }
        }
        tokens.push_back(exchange.start_link_messages({0, true}, rows, kBytes));
    }
    for (const int number : {1, 0}) {
        const auto heard = exchange.finish_messages(tokens[number]);
        for (size_t i = 0; i < heard.size(); ++i) {
            const int64_t replica = placement.begin(world.rank()) + int64_t(i);
            std::vector<double> row(static_cast<size_t>(schedule.size()));
            row[replica] = schedule.matrix()[replica][replica];
            for (const UsedMessage& one : heard[i]) {
                if (one.replica == replica) return "a replica hears itself";
                row[one.replica] += one.weight;
                if (std::string(one.message, kBytes) != written(one.replica, replica, number)) {
                    return "replica " + std::to_string(replica) + " hears '" +
                           std::string(one.message, kBytes) + "' from " +
                           std::to_string(one.replica);
                }
            }
            if (row != schedule.matrix()[replica]) {
                return "replica " + std::to_string(replica) +
                       " does not get its neighbours' messages";
            }
        }
    }
    return "";
}

}  // namespace dbench::comm::tests
