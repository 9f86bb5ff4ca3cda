// Ranks with other numbers than their transport gives them.

#include "comm/transport/renumbered.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "catch.hpp"
#include "comm/collective_checks.hpp"
#include "comm/mixing_checks.hpp"
#include "comm/moment_checks.hpp"
#include "comm/world/link_speed.hpp"
#include "comm/world/world_impl.hpp"

namespace dbench::comm::tests {
namespace {

const std::vector<std::string> kFine3(3), kFine4(4), kFine5(5);

}  // namespace

TEST_CASE("A rank is the process that its slot names") {
    CHECK(play(4, [](World& world) -> std::string {
              const int launched = world.rank();
              for (const std::vector<int>& slots : std::vector<std::vector<int>>{
                       {2, 0, 3, 1}, {3, 2, 1, 0}, {0, 1, 2, 3}, {1, 0, 2, 3}, {}}) {
                  world.renumber(slots);
                  if (world.slot() != launched) return "another process";
                  const int expected = slots.empty() ? world.rank() : slots[world.rank()];
                  if (expected != launched) return "another rank";
                  if (world.size() != 4) return "another size";
                  const auto all = world.all_gather(std::to_string(launched));
                  for (size_t rank = 0; rank < all.size(); ++rank) {
                      if (!slots.empty() && all[rank] != std::to_string(slots[rank])) {
                          return "a text of another process";
                      }
                  }
              }
              return "";
          }) == kFine4);
}

TEST_CASE("Wrong numbers are refused, and the ranks keep theirs") {
    CHECK(play(3, [](World& world) {
              world.renumber({2, 0, 1});
              try {
                  world.renumber({1, 0});
              } catch (const std::logic_error&) {
                  return check_collectives(world);
              }
              return std::string("two numbers are accepted");
          }) == kFine3);
}

TEST_CASE("Collectives work on renumbered ranks") {
    CHECK(play(5, [](World& world) {
              world.renumber({3, 1, 4, 0, 2});
              const std::string first = check_collectives(world);
              world.renumber({4, 3, 2, 1, 0});
              return first + check_collectives(world);
          }) == kFine5);
}

TEST_CASE("Messages of renumbered ranks arrive at the right ranks") {
    CHECK(
        play(3, [](World& world) -> std::string {
            world.renumber({1, 2, 0});
            World::Impl& impl = world.impl();
            const int rank = world.rank(), next = (rank + 1) % 3, last = (rank + 2) % 3;
            for (Transport* transport : std::array<Transport*, 2>{&impl.rows(), &impl.control()}) {
                int mine = rank, theirs = -1;
                const Message out{next, 7, &mine, sizeof mine}, in{last, 7, &theirs, sizeof theirs};
                impl.move("a test", *transport, {&out, 1}, {&in, 1});
                if (theirs != last) return "a message of " + std::to_string(theirs);
            }
            return "";
        }) == kFine3);
}

TEST_CASE("Awaited ranks and senders are reported by their new numbers") {
    const auto group = local_group(3);
    std::vector<Membership> members;
    const std::vector<int> slots{2, 0, 1};
    for (int slot = 0; slot < 3; ++slot) {
        Membership member = renumbered(join_local(group, slot), slots);
        CHECK(member.slot() == slot);
        CHECK(slots[member.rank] == slot);
        members.push_back(std::move(member));
    }
    Membership &zero = members[2], &one = members[0];
    REQUIRE(zero.rank == 0);
    REQUIRE(one.rank == 1);
    char byte = 0;
    const std::array<Message, 2> in{Message{2, 5, &byte, 1}, Message{1, 5, &byte, 1}};
    const auto transfer = zero.rows->start({}, in);
    CHECK_FALSE(transfer->test());
    CHECK(transfer->awaited_ranks() == std::vector<int>{1, 2});
    const Message out{0, 5, &byte, 1};
    const auto sent = one.rows->start({&out, 1}, {});
    CHECK(sent->test());
    CHECK_FALSE(transfer->test());
    CHECK(transfer->awaited_ranks() == std::vector<int>{2});
    const std::string text = "help";
    const auto posted = one.control->start_control_message(0, text);
    const auto message = zero.control->take_control_message();
    REQUIRE(message);
    CHECK(message->rank == 1);
    CHECK(message->text == text);
    // A new renumbering starts from the transport's numbers; empty slots restore these.
    const Membership plain = renumbered(renumbered(std::move(zero), {0, 2, 1}), {});
    CHECK(plain.rank == 2);
    CHECK(plain.slot() == 2);
}

TEST_CASE("Mixing and moments of renumbered ranks have the same bits") {
    const arena::Layout layout = awkward_layout();
    const int n = 9;
    for (const DenseSchedule& schedule : all_schedules(n)) {
        const arena::Buffer expected = mixed_alone(schedule, layout, arena::DType::float32);
        CHECK(play(4, [&](World& world) {
                  world.renumber({2, 0, 3, 1});
                  return check_mixing(world, schedule, layout, arena::DType::float32, expected);
              }) == kFine4);
    }
}

TEST_CASE("Links between all ranks are measured") {
    for (const int ranks : {2, 3, 4}) {
        const auto problems = play(ranks, [&](World& world) -> std::string {
            const graphs::Links links = measure_links(world);
            if (world.rank() != 0) return links.slots == 0 ? "" : "links on another rank";
            if (links.slots != ranks) return "another number of slots";
            for (int from = 0; from < ranks; ++from) {
                for (int to = 0; to < ranks; ++to) {
                    const double seconds = links.latency[links.at(from, to)];
                    const double rate = links.bandwidth[links.at(from, to)];
                    if (from == to) continue;
                    // 1 is the value of links that were not measured.
                    if (!(seconds > 0) || seconds == 1 || !std::isfinite(seconds)) return "latency";
                    if (!(rate > 1) || !std::isfinite(rate)) return "bandwidth";
                }
            }
            return "";
        });
        CHECK(problems == std::vector<std::string>(static_cast<size_t>(ranks)));
    }
}

TEST_CASE("Exchanges bring what the rank before has sent, as often as all ranks agree") {
    constexpr size_t kBytes = (size_t{16} << 20) + 5;  // two messages
    for (const int ranks : {2, 3, 4}) {
        const int shift = ranks / 2;
        const auto problems = play(ranks, [&](World& world) -> std::string {
            std::vector<char> out(kBytes, static_cast<char>('a' + world.rank())), in(kBytes);
            const int from = (world.rank() + ranks - shift) % ranks;
            const std::vector<char> expected(kBytes, static_cast<char>('a' + from));
            // There is time for none, so the fewest are made, and for more than the most.
            if (measure_exchanges(world, out, in, {{shift}, 0, 2, 9}).size() != 2) return "fewest";
            if (in != expected) return "other bytes";
            if (ranks > 2) {  // halves of what the two ranks before have sent
                measure_exchanges(world, out, in, {{1, 2}, 0, 1, 1});
                for (const int k : {1, 2}) {
                    const char sent = static_cast<char>('a' + (world.rank() + ranks - k) % ranks);
                    const auto begin = in.begin() + (k - 1) * (kBytes / 2);
                    const auto end = k == 1 ? begin + kBytes / 2 : in.end();
                    if (std::count(begin, end, sent) != end - begin) return "other halves";
                }
            }
            const std::vector<double> seconds =
                measure_exchanges(world, out, in, {{shift}, 1e6, 1, 3});
            if (seconds.size() != 3) return "most";
            return std::all_of(seconds.begin(), seconds.end(), [](double each) { return each > 0; })
                       ? ""
                       : "time";
        });
        CHECK(problems == std::vector<std::string>(static_cast<size_t>(ranks)));
    }
}

TEST_CASE("The least time of a sum is the time of its bytes on each rank's link") {
    CHECK(SumSpeed::least(1, 1e8) == 0);
    CHECK(SumSpeed::least(2, 1e8) == Approx(SumSpeed::bytes / 1e8));  // a whole row each way
    CHECK(SumSpeed::least(1000, 1e8) == Approx(1.998 * SumSpeed::bytes / 1e8));
}

}  // namespace dbench::comm::tests
