#include "comm/letters.hpp"

#include <thread>

#include "base/clock.hpp"
#include "catch.hpp"
#include "comm/local_planes.hpp"

namespace dbench::comm {
namespace {

/// The letters of ranks that are all in this thread.
struct Ranks {
    std::vector<Membership> members;
    std::vector<std::unique_ptr<Letters>> letters;

    explicit Ranks(int size) {
        const auto group = local_group(size);
        for (int rank = 0; rank < size; ++rank) {
            members.push_back(join_local(group, rank));
            letters.push_back(std::make_unique<Letters>(*members.back().control, rank, size));
        }
    }
    Letters& operator[](int rank) { return *letters[static_cast<size_t>(rank)]; }

    /// Rank 0 asks, while all others look for letters.
    Blame ask() {
        return letters[0]->ask([] { return false; },
                               [&] {
                                   for (auto& other : letters) other->take();
                               });
    }
};

using Owing = std::function<std::vector<int>()>;

Owing owes(int rank) {
    return [rank] { return std::vector<int>{rank}; };
}

}  // namespace

TEST_CASE("A letter of failure reaches rank 0, once") {
    Ranks ranks(3);
    ranks[2].report_failure("no memory left", 0);
    CHECK_FALSE(ranks[1].take());
    const auto letter = ranks[0].take();
    REQUIRE(letter);
    CHECK(letter->rank == 2);
    CHECK(letter->text == "no memory left");
    CHECK_FALSE(ranks[0].take());
}

TEST_CASE("A message that is longer than a letter is cut") {
    Ranks ranks(2);
    ranks[1].report_failure(std::string(2 * ControlPlane::kLongestLetter, 'x'), 0);
    CHECK(ranks[0].take()->text == std::string(ControlPlane::kLongestLetter - 1, 'x'));
}

TEST_CASE("Of a chain of ranks that wait, the one at its end is to blame") {
    Ranks ranks(4);
    const Owing of_one = owes(1), of_two = owes(2);
    const Letters::Waiting first(ranks[0], of_one), second(ranks[1], of_two);
    const Blame blame = ranks.ask();
    CHECK(blame.culprit == "rank 2 waits for nobody, but has sent nothing");
    CHECK(blame.chain == "; rank 0 waits for rank 1; rank 1 waits for rank 2");
}

TEST_CASE("Ranks that wait in a circle are all to blame") {
    Ranks ranks(3);
    const Owing of_one = owes(1), of_two = owes(2), of_zero = owes(0);
    const Letters::Waiting first(ranks[0], of_one), second(ranks[1], of_two),
        third(ranks[2], of_zero);
    CHECK(ranks.ask().culprit == "ranks 0, 1, 2 wait for one another");
}

TEST_CASE("Who does not answer is to blame, and the question ends after two seconds") {
    Ranks ranks(3);
    const Owing of_one = owes(1), of_two = owes(2);
    const Letters::Waiting first(ranks[0], of_one), second(ranks[1], of_two);
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
    const Letters::Waiting first(ranks[0], unknown), second(ranks[1], of_three),
        third(ranks[2], of_three);
    const Blame blame = ranks.ask();
    CHECK(blame.culprit == "rank 3 waits for nobody, but has sent nothing");
    CHECK(blame.chain == "; rank 1 waits for rank 3; rank 2 waits for rank 3");
}

TEST_CASE("Who gave up because of another still names it to those who ask") {
    Ranks ranks(3);
    const Owing of_one = owes(1), of_two = owes(2);
    {
        const Letters::Waiting waiting(ranks[1], of_two);
        const Blame own = ranks[1].ask([] { return false; },
                                       [&] {
                                           ranks[1].take();
                                           ranks[2].take();
                                       });
        CHECK(own.culprit == "rank 2 waits for nobody, but has sent nothing");
    }
    const Letters::Waiting waiting(ranks[0], of_one);
    std::thread gone([&] { ranks[1].report_failure("stalled", 1); });
    std::vector<Letter> heard;
    const Blame blame = ranks[0].ask([] { return false; },
                                     [&] {
                                         if (auto letter = ranks[0].take())
                                             heard.push_back(*letter);
                                         ranks[2].take();
                                     });
    gone.join();
    CHECK(blame.culprit == "rank 2 waits for nobody, but has sent nothing");
    CHECK(blame.chain == "; rank 0 waits for rank 1; rank 1 waits for rank 2");
    REQUIRE(heard.size() == 1);
    CHECK(heard[0].text == "stalled");
}

}  // namespace dbench::comm
