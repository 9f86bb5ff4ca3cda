#include "comm/world/background_collective.hpp"

#include "base/framing.hpp"
#include "catch.hpp"
#include "comm/collective_checks.hpp"
#include "comm/environment.hpp"
#include "comm/turns.hpp"

namespace dbench::comm::tests {

TEST_CASE("Ranks go on while a background collective waits for a rank that has not begun it") {
    for (int ranks = 1; ranks <= 6; ++ranks) {
        Turns turns(ranks);
        for (const std::string& problem : play(ranks, [&](World& world) -> std::string {
                 const int me = world.rank();
                 std::vector<std::unique_ptr<BackgroundCollective>> collections;
                 for (int k = 0; k < 2 * ranks; ++k) {
                     if (k % ranks == me && !turns.others_passed(k, me)) return "they wait";
                     collections.push_back(std::make_unique<BackgroundCollective>(
                         world, "a test", ragged_text(me + k), base::join_texts));
                     turns.pass(k, me);
                 }
                 world.barrier();
                 for (int k = 0; k < 2 * ranks; ++k) {
                     std::vector<std::string> texts;
                     for (int r = 0; r < ranks; ++r) texts.push_back(ragged_text(r + k));
                     if (collections[k]->answer() != base::join_texts(texts)) return "the answer";
                     if (!collections[k]->done()) return "not done";
                     if (me != 0) texts.clear();
                     if (collections[k]->texts() != texts) return "the texts";
                 }
                 return "";
             })) {
            CHECK(problem == "");
        }
    }
}

TEST_CASE("Reading a background collective that a rank never begins names it and the rank") {
    const Environment timeout("DBENCH_TIMEOUT", "0.2");
    const auto outcome = play(3, [](World& world) -> std::string {
        if (world.rank() == 2) {
            std::this_thread::sleep_for(std::chrono::seconds(3));
            world.report_failure("overslept");
            return "";
        }
        BackgroundCollective collection(world, "the count of heads", "", base::join_texts);
        try {
            collection.answer();
        } catch (const Stalled& error) {
            return error.what();
        }
        return "no error";
    });
    CHECK_THAT(outcome[0], Catch::Matchers::ContainsSubstring("the count of heads stalled") &&
                               Catch::Matchers::ContainsSubstring("rank 2 within 0.2"));
}

TEST_CASE("A background collective may be destroyed before its result is read") {
    for (const std::string& problem : play(4, [](World& world) -> std::string {
             {
                 const std::string text(100000, 'x');
                 const BackgroundCollective forgotten(world, "a test", text, base::join_texts);
             }
             return check_collectives(world);
         })) {
        CHECK(problem == "");
    }
}

}  // namespace dbench::comm::tests
