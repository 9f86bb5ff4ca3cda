#include "comm/world/control_messages.hpp"

#include <thread>

#include "base/clock.hpp"
#include "catch.hpp"
#include "comm/transport/local_transports.hpp"

namespace dbench::comm {
namespace {

/// The control_messages of ranks that are all in this thread.
struct Ranks {
    std::vector<Membership> members;
    std::vector<std::unique_ptr<ControlMessages>> control_messages;

    explicit Ranks(int size) {
        const auto group = local_group(size);
        for (int rank = 0; rank < size; ++rank) {
            members.push_back(join_local(group, rank));
            control_messages.push_back(
                std::make_unique<ControlMessages>(*members.back().control, rank, size));
        }
    }
    ControlMessages& operator[](int rank) { return *control_messages[static_cast<size_t>(rank)]; }

    /// Rank 0 asks, while all others look for control_messages.
    Blame ask() {
        return control_messages[0]->ask([] { return false; },
                                        [&] {
                                            for (auto& other : control_messages) other->take();
                                        });
    }
};

using Owing = std::function<std::vector<int>()>;

Owing owes(int rank) {
    return [rank] { return std::vector<int>{rank}; };
}

}  // namespace

TEST_CASE("A message of failure reaches rank 0, once") {
    Ranks ranks(3);
    ranks[2].report_failure("no memory left", 0);
    CHECK_FALSE(ranks[1].take());
    const auto message = ranks[0].take();
    REQUIRE(message);
    CHECK(message->rank == 2);
    CHECK(message->text == "no memory left");
    CHECK_FALSE(ranks[0].take());
}

TEST_CASE("A message that is longer than a message is cut") {
    Ranks ranks(2);
    ranks[1].report_failure(std::string(2 * ControlTransport::kLongestControlMessage, 'x'), 0);
    CHECK(ranks[0].take()->text == std::string(ControlTransport::kLongestControlMessage - 1, 'x'));
}

TEST_CASE("Of a chain of ranks that wait, the one at its end is to blame") {
    Ranks ranks(4);
    const Owing of_one = owes(1), of_two = owes(2);
    const ControlMessages::Waiting first(ranks[0], of_one), second(ranks[1], of_two);
    const Blame blame = ranks.ask();
    CHECK(blame.culprit == "rank 2 waits for nobody, but has sent nothing");
    CHECK(blame.chain == "; rank 0 waits for rank 1; rank 1 waits for rank 2");
}

TEST_CASE("Ranks that wait in a circle are all to blame") {
    Ranks ranks(3);
    const Owing of_one = owes(1), of_two = owes(2), of_zero = owes(0);
    const ControlMessages::Waiting first(ranks[0], of_one), second(ranks[1], of_two),
        third(ranks[2], of_zero);
    CHECK(ranks.ask().culprit == "ranks 0, 1, 2 wait for one another");
}

TEST_CASE("Who does not answer is to blame, and the question ends after two seconds") {
    Ranks ranks(3);
    const Owing of_one = owes(1), of_two = owes(2);
    const ControlMessages::Waiting first(ranks[0], of_one), second(ranks[1], of_two);
    const double start = base::now();
    const Blame blame = ranks[0].ask([] { return false; },
                                     [&] {
                                         ranks[0].take();
                                         ranks[1].take();
                                     });
    CHECK(base::now() - start < 10);
    CHECK(blame.culprit == "no answer from rank 2");
    CHECK(blame.chain == "; rank 0 waits for rank 1; rank 1 waits for rank 2");
}

TEST_CASE("A rank that does not know whom it waits for asks all") {
    Ranks ranks(4);
    const Owing unknown = [] { return std::vector<int>{}; }, of_three = owes(3);
    const ControlMessages::Waiting first(ranks[0], unknown), second(ranks[1], of_three),
        third(ranks[2], of_three);
    const Blame blame = ranks.ask();
    CHECK(blame.culprit == "rank 3 waits for nobody, but has sent nothing");
    CHECK(blame.chain == "; rank 1 waits for rank 3; rank 2 waits for rank 3");
}

TEST_CASE("Who gave up because of another still names it to those who ask") {
    Ranks ranks(3);
    const Owing of_one = owes(1), of_two = owes(2);
    {
        const ControlMessages::Waiting waiting(ranks[1], of_two);
        const Blame own = ranks[1].ask([] { return false; },
                                       [&] {
                                           ranks[1].take();
                                           ranks[2].take();
                                       });
        CHECK(own.culprit == "rank 2 waits for nobody, but has sent nothing");
    }
    const ControlMessages::Waiting waiting(ranks[0], of_one);
    std::thread gone([&] { ranks[1].report_failure("stalled", 1); });
    std::vector<ControlMessage> heard;
    const Blame blame = ranks[0].ask([] { return false; },
                                     [&] {
                                         if (auto message = ranks[0].take())
                                             heard.push_back(*message);
                                         ranks[2].take();
                                     });
    gone.join();
    CHECK(blame.culprit == "rank 2 waits for nobody, but has sent nothing");
    CHECK(blame.chain == "; rank 0 waits for rank 1; rank 1 waits for rank 2");
    REQUIRE(heard.size() == 1);
    CHECK(heard[0].text == "stalled");
}

}  // namespace dbench::comm
