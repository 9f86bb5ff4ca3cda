// Links files, and placements from files and by hosts.

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "dense.hpp"
#include "graphs/links.hpp"
#include "graphs/placement_table.hpp"

using namespace dbench;
using namespace dbench::graphs;
using Catch::Matchers::ContainsSubstring;
using Hosts = std::vector<std::string>;

namespace {

LinkTable table(const std::string& content) { return {content, "links.txt"}; }

std::string refusal(const std::function<void()>& work) {
    try {
        work();
    } catch (const base::UserError& error) {
        return error.what();
    }
    return "";
}

std::string refusal(const std::string& content, const Hosts& hosts = {}) {
    return refusal([&] { table(content).between(hosts); });
}

// A file that is deleted at the end of the test.
struct LinksScratch {
    std::string path = (std::filesystem::temp_directory_path() /
                        ("dbench-placement-" + std::to_string(::getpid())))
                           .string();
    explicit LinksScratch(const std::string& content) { std::ofstream(path) << content; }
    ~LinksScratch() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE("links by slots apply to both directions unless both are given", "[graphs]") {
    const Links links = table(
                            "# measured\n0 1 1e-3 1e6\n1,0,2e-3,2e6  # the way back\n"
                            "\n0;2;0;5e5\r\n1\t2 4e-3 1e9\n")
                            .between({"a", "a", "b"});
    CHECK(links.slots == 3);
    CHECK(links.latency[links.at(0, 1)] == 1e-3);
    CHECK(links.latency[links.at(1, 0)] == 2e-3);
    CHECK(links.bandwidth[links.at(2, 0)] == 5e5);
    CHECK(links.latency[links.at(2, 1)] == 4e-3);
    CHECK(links.seconds(1, 0, 1e6) == 2e-3 + 0.5);
    CHECK(links.seconds(2, 0, 1e6) == 2);
}

TEST_CASE("links by hosts apply to the slots of those hosts", "[graphs]") {
    const LinkTable hosts = table("b b 1e-6 1e10\na b 1e-3 1e8\n10 a 5e-3 1e7\n10 b 6e-3 1e7\n");
    CHECK(hosts.hosts() == Hosts{"b", "a", "10"});
    const Links links = hosts.between({"b", "a", "b", "10"});
    CHECK(links.latency[links.at(0, 2)] == 1e-6);
    CHECK(links.latency[links.at(0, 1)] == 1e-3);
    CHECK(links.latency[links.at(1, 3)] == 5e-3);
    CHECK(links.latency[links.at(3, 2)] == 6e-3);
    CHECK_THAT(refusal([&] {
                   hosts.between({"a", "a"});
               }),
               ContainsSubstring("links.txt: has no link between host a and host a"));
    CHECK_THAT(refusal([&] {
                   hosts.between({"a", "c"});
               }),
               ContainsSubstring("add a line \"a c LATENCY BANDWIDTH\""));
}

TEST_CASE("an invalid links file is refused with the line number", "[graphs]") {
    CHECK_THAT(refusal("0 1 1e-3\n"), ContainsSubstring("links.txt: line 1 has 3 words"));
    CHECK_THAT(refusal("# x\n0 1 fast 1e6\n"),
               ContainsSubstring(
                   "line 2: 'fast' is not a valid latency in seconds: give a number from 0"));
    CHECK_THAT(refusal("0 1 -1 1e6\n"), ContainsSubstring("'-1' is not a valid latency"));
    CHECK_THAT(refusal("0 1 nan 1e6\n"), ContainsSubstring("'nan' is not a valid latency"));
    CHECK_THAT(refusal("0 1 0 0\n"),
               ContainsSubstring("'0' is not a valid bandwidth in bytes a second"));
    CHECK_THAT(refusal("0 1 0 1e6x\n"), ContainsSubstring("'1e6x' is not a valid bandwidth"));
    CHECK_THAT(refusal("0 1 0 inf\n"), ContainsSubstring("'inf' is not a valid bandwidth"));
    CHECK_THAT(refusal("0 1 0 1\n1 0 0 1\n0 1 0 2\n"),
               ContainsSubstring("line 3: the link from 0 to 1 is already given in line 1"));
    CHECK_THAT(refusal("0 1 0 1\n", {"a", "a", "a"}),
               ContainsSubstring("no link between slot 0 and slot 2"));
    CHECK_THAT(refusal("", {"a", "b"}), ContainsSubstring("no link between slot 0 and slot 1"));
    CHECK_THAT(refusal([] { read_links("/nowhere/links"); }), ContainsSubstring("/nowhere/links"));
}

TEST_CASE("links are written in the format in which they are read", "[graphs]") {
    Links links(3);
    for (size_t k = 0; k < links.latency.size(); ++k) {
        links.latency[k] = 1e-5 * static_cast<double>(k);
        links.bandwidth[k] = 1e8 + 1e7 * static_cast<double>(k);
    }
    const std::string text = to_text(links, {"one", "two", "two"});
    CHECK_THAT(text, ContainsSubstring("# slot 2: two"));
    const Links read = table(text).between({"x", "y", "z"});
    for (int from = 0; from < 3; ++from) {
        for (int to = 0; to < 3; ++to) {
            if (from == to) continue;
            CHECK(read.seconds(from, to, 1e6) == Catch::Approx(links.seconds(from, to, 1e6)));
        }
    }
}

TEST_CASE("node_major takes one slot of each host in turn", "[graphs]") {
    CHECK(node_major_placement(Hosts{"b", "b", "b", "a", "a", "c"}) == Slots{0, 3, 5, 1, 4, 2});
    CHECK(node_major_placement(Hosts(8, "a")) == linear_placement(8));
    const Hosts even{"a", "a", "b", "b", "c", "c"};
    CHECK(node_major_placement(even) == node_major_placement(6, 2));
}

TEST_CASE("a placement from a file is a permutation of the ranks", "[graphs]") {
    CHECK(read_placement(LinksScratch("# slots\n2 0\n1\n").path, 3) == Slots{2, 0, 1});
    const auto refused = [](const std::string& content) {
        const LinksScratch file(content);
        return refusal([&] { read_placement(file.path, 3); });
    };
    CHECK_THAT(refused("0 1 3"), ContainsSubstring("is not a slot (slots are 0 to 2"));
    CHECK_THAT(refused("0 1 0.5"), ContainsSubstring("0.5 is not a slot"));
    CHECK_THAT(refused("0 1 1"), ContainsSubstring("slot 1 is given twice"));
    CHECK_THAT(refused("0 1"), ContainsSubstring("has 2 slots for 3 ranks"));
    CHECK_THAT(refused("0 one 2"), ContainsSubstring("line 1: 'one' is not a finite number"));
}
