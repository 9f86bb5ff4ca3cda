#include "comm/world/control_messages.hpp"

#include <thread>

#include "base/clock.hpp"
#include "catch.hpp"
#include "comm/transport/local_transports.hpp"

namespace dbench::comm {
namespace {

/// The control messages of several ranks, all used by this thread.
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

    /// Rank 0 diagnoses a stall while all other ranks read their messages.
    StallDiagnosis diagnose_stall() {
        return control_messages[0]->diagnose_stall([] { return false; },
                                                   [&] {
                                                       for (auto& other : control_messages)
                                                           other->take();
                                                   });
    }
};

using Owing = std::function<std::vector<int>()>;

Owing owes(int rank) {
    return [rank] { return std::vector<int>{rank}; };
}

}  // namespace

TEST_CASE("A failure message reaches rank 0 once") {
    Ranks ranks(3);
    ranks[2].report_failure("no memory left", 0);
    CHECK_FALSE(ranks[1].take());
    const auto message = ranks[0].take();
    REQUIRE(message);
    CHECK(message->rank == 2);
    CHECK(message->text == "no memory left");
    CHECK_FALSE(ranks[0].take());
}

TEST_CASE("A failure message that is too long is truncated") {
    Ranks ranks(2);
    ranks[1].report_failure(std::string(2 * ControlTransport::kLongestControlMessage, 'x'), 0);
    CHECK(ranks[0].take()->text == std::string(ControlTransport::kLongestControlMessage - 1, 'x'));
}

TEST_CASE("All other ranks learn that a rank makes progress") {
    Ranks ranks(3);
    const double start = base::now();
    ranks[1].tell_progress();
    for (int rank = 0; rank < 3; ++rank) {
        CHECK_FALSE(ranks[rank].take());
        CHECK((ranks[rank].last_progress() >= start) == (rank != 1));
    }
}

TEST_CASE("In a chain of waiting ranks, the diagnosis names the rank at its end") {
    Ranks ranks(4);
    const Owing of_one = owes(1), of_two = owes(2);
    const ControlMessages::Waiting first(ranks[0], of_one), second(ranks[1], of_two);
    const StallDiagnosis diagnosis = ranks.diagnose_stall();
    CHECK(diagnosis.culprit == "rank 2 waits for nobody, but has sent nothing");
    CHECK(diagnosis.chain == "; rank 0 waits for rank 1; rank 1 waits for rank 2");
}

TEST_CASE("In a cycle of waiting ranks, the diagnosis names all of them") {
    Ranks ranks(3);
    const Owing of_one = owes(1), of_two = owes(2), of_zero = owes(0);
    const ControlMessages::Waiting first(ranks[0], of_one), second(ranks[1], of_two),
        third(ranks[2], of_zero);
    CHECK(ranks.diagnose_stall().culprit == "ranks 0, 1, 2 wait for one another");
}

TEST_CASE("The diagnosis names a rank that does not answer within two seconds") {
    Ranks ranks(3);
    const Owing of_one = owes(1), of_two = owes(2);
    const ControlMessages::Waiting first(ranks[0], of_one), second(ranks[1], of_two);
    const double start = base::now();
    const StallDiagnosis diagnosis = ranks[0].diagnose_stall([] { return false; },
                                                             [&] {
                                                                 ranks[0].take();
                                                                 ranks[1].take();
                                                             });
    CHECK(base::now() - start < 10);
    CHECK(diagnosis.culprit == "no answer from rank 2");
    CHECK(diagnosis.chain == "; rank 0 waits for rank 1; rank 1 waits for rank 2");
}

TEST_CASE("A rank that does not know which ranks it waits for queries all ranks") {
    Ranks ranks(4);
    const Owing unknown = [] { return std::vector<int>{}; }, of_three = owes(3);
    const ControlMessages::Waiting first(ranks[0], unknown), second(ranks[1], of_three),
        third(ranks[2], of_three);
    const StallDiagnosis diagnosis = ranks.diagnose_stall();
    CHECK(diagnosis.culprit == "rank 3 waits for nobody, but has sent nothing");
    CHECK(diagnosis.chain == "; rank 1 waits for rank 3; rank 2 waits for rank 3");
}

TEST_CASE("A rank that gave up because of another rank still names that rank") {
    Ranks ranks(3);
    const Owing of_one = owes(1), of_two = owes(2);
    {
        const ControlMessages::Waiting waiting(ranks[1], of_two);
        const StallDiagnosis own = ranks[1].diagnose_stall([] { return false; },
                                                           [&] {
                                                               ranks[1].take();
                                                               ranks[2].take();
                                                           });
        CHECK(own.culprit == "rank 2 waits for nobody, but has sent nothing");
    }
    const ControlMessages::Waiting waiting(ranks[0], of_one);
    std::thread gone([&] { ranks[1].report_failure("stalled", 1); });
    std::vector<ControlMessage> heard;
    const StallDiagnosis diagnosis = ranks[0].diagnose_stall([] { return false; },
                                                             [&] {
                                                                 if (auto message = ranks[0].take())
                                                                     heard.push_back(*message);
                                                                 ranks[2].take();
                                                             });
    gone.join();
    CHECK(diagnosis.culprit == "rank 2 waits for nobody, but has sent nothing");
    CHECK(diagnosis.chain == "; rank 0 waits for rank 1; rank 1 waits for rank 2");
    REQUIRE(heard.size() == 1);
    CHECK(heard[0].text == "stalled");
}

}  // namespace dbench::comm
