// Texts: words and bytes as tokens, windows, and the order in which a stream reads them.

#include <cstring>
#include <numeric>

#include "catch.hpp"
#include "data/loader.hpp"
#include "data/numbered_set.hpp"
#include "data/support.hpp"
#include "data/token_set.hpp"
#include "data/vocabulary.hpp"

using namespace dbench;
using Catch::Matchers::ContainsSubstring;
using data::Vocabulary;
using data::words_of;
using test::refusal;
using TextTokens = std::vector<int32_t>;
using Integers = std::vector<int64_t>;

namespace {

std::vector<int32_t> counted(int64_t size) {
    TextTokens tokens(static_cast<size_t>(size));
    std::iota(tokens.begin(), tokens.end(), 0);
    return tokens;
}

Integers tokens_of(const data::Dataset& set, int64_t index) {
    Integers out(static_cast<size_t>(set.shape().front()));
    set.input(index, arena::DType::float32, data::Order::contiguous, 0, out.data());
    return out;
}

Integers labels_of(const data::Dataset& set, int64_t index) {
    Integers out(static_cast<size_t>(set.shape().front()));
    set.labels(index, out.data());
    return out;
}

data::DataSets load(const std::string& spec) {
    return data::load_data(test::data_spec(spec), {1, 1});
}

test::Bytes bytes(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace

TEST_CASE("words are separated by blanks, and every line ends with <eos>") {
    CHECK(words_of(" = A  b =\n \nc\xc3\xa9 d") ==
          std::vector<std::string_view>{"=", "A", "b", "=", "<eos>", "<eos>", "c\xc3\xa9", "d",
                                        "<eos>"});
    CHECK(words_of("").empty());
}

TEST_CASE("a vocabulary is numbered by frequency, then by first occurrence") {
    // Counts: a 3, b 2, <eos> 2, c, <unk>, d.
    const auto text = words_of("b a c a\nb a <unk> d\n");
    const Vocabulary all(text, {});
    CHECK(all.size() == 6);
    CHECK(all.tokens(text, "x") == TextTokens{1, 0, 3, 0, 2, 1, 0, 4, 5, 2});
    CHECK_THAT(refusal([&] { static_cast<void>(all.tokens(words_of("a e"), "the.file")); }),
               ContainsSubstring("the.file: word 2, 'e'"));

    // The last of the four most frequent words is replaced by <unk>, which is the fifth.
    const Vocabulary four(text, 4);
    CHECK(four.size() == 4);
    CHECK(four.tokens(words_of("a b c d e"), "x") == TextTokens{0, 1, 3, 3, 3, 2});
    const Vocabulary five(text, 5);
    CHECK(five.tokens(words_of("c d <unk>"), "x") == TextTokens{3, 4, 4, 2});
    CHECK(Vocabulary(words_of("a b"), 100).size() == 4);
    CHECK(Vocabulary(words_of("a b"), 3).size() == 3);
}

TEST_CASE("windows are consecutive, and the label of each position is the next token") {
    const auto set = data::token_set(counted(12), 12, 4, "x");
    REQUIRE(set->size() == 2);  // A third window would need token 12.
    CHECK(data::token_set(counted(13), 13, 4, "x")->size() == 3);
    CHECK(tokens_of(*set, 1) == Integers{4, 5, 6, 7});
    CHECK(labels_of(*set, 1) == Integers{5, 6, 7, 8});
    CHECK_THAT(refusal([] { data::token_set(counted(4), 4, 4, "the.file"); }),
               ContainsSubstring("the.file: holds 4 tokens"));
}

TEST_CASE("the batches of a stream continue where the previous ones ended") {
    // 2 replicas with 11 and 12 windows of 3 tokens, in 2 columns of 5 windows each.
    const std::shared_ptr<const data::Dataset> set = data::token_set(counted(71), 71, 3, "x");
    REQUIRE(set->size() == 23);
    const std::shared_ptr<data::Partition> partition = test::partition_of("stream", *set, 2);
    const auto plan =
        data::plan_batches({data::BatchSize::Unit::replica, 2}, *partition, 2, set->size());
    REQUIRE(plan.per_epoch == 5);
    data::Loader::Options options;
    options.first_iteration = 3;  // A resumed run starts inside an epoch.
    options.last_iteration = 12;
    options.end = 2;
    data::Loader loader(set, partition, plan, options);
    for (int64_t t = 3; t < 12; ++t) {
        for (int64_t replica = 0; replica < 2; ++replica) {
            const data::Batch& batch = loader.next();
            CHECK(batch.tokens);
            CHECK(batch.terms == 6);
            CHECK(batch.shape == Integers{2, 3});
            CHECK(batch.continues == (t % 5 > 0));
            for (int64_t column = 0; column < 2; ++column) {
                const int64_t first = 3 * (11 * replica + 5 * column + t % 5);
                const auto* inputs = static_cast<const int64_t*>(batch.inputs) + 3 * column;
                const int64_t* labels = batch.labels + 3 * column;
                CHECK(Integers(inputs, inputs + 3) == Integers{first, first + 1, first + 2});
                CHECK(Integers(labels, labels + 3) == Integers{first + 1, first + 2, first + 3});
            }
        }
    }
}

TEST_CASE("other partitions assign windows like any samples") {
    const std::shared_ptr<const data::Dataset> set = data::token_set(counted(71), 71, 3, "x");
    const std::shared_ptr<data::Partition> partition = test::partition_of("shuffled", *set, 2);
    const auto plan =
        data::plan_batches({data::BatchSize::Unit::replica, 2}, *partition, 2, set->size());
    data::Replay replay(set, partition, plan, {});
    const auto order = partition->epoch(1, 0);
    const data::Batch& batch = replay.batch(3, 1);
    CHECK_FALSE(batch.continues);
    CHECK(static_cast<const int64_t*>(batch.inputs)[3] == 3 * order[7]);
    for (const char* by_labels : {"dirichlet", "by_label"}) {
        CHECK_THAT(refusal([&] { test::partition_of(by_labels, *set, 2); }),
                   ContainsSubstring("each position of a sample has one"));
    }
}

TEST_CASE("text reads the bytes of a file and uses the last tenth for testing") {
    const test::Folder folder;
    const std::string path = folder / "a.txt";
    test::write_file(path, bytes("0123456789abcdefghi\xff"));
    const std::string head = R"({"type": "text", "sequence": 1, "path": ")" + path + "\"";
    const auto sets = load(head + "}");
    CHECK(sets.train->size() == 17);
    CHECK(sets.train->classes() == 256);
    CHECK(tokens_of(*sets.train, 11) == Integers{'b'});
    CHECK(labels_of(*sets.test, 0) == Integers{255});
    CHECK(sets.digests.size() == 1);

    test::write_file(folder / "b.txt", bytes("xyz"));
    const test::Environment root("DBENCH_DATA", (folder / "").c_str());
    const auto two = load(head + R"(, "test": "b.txt"})");
    CHECK(two.train->size() == 19);
    CHECK(two.test->size() == 2);
    CHECK(two.digests.size() == 2);

    const auto plain = load(head + "}");
    test::write_file(path, bytes("\xef\xbb\xbf"
                                 "0123456789abcdefghi\xff"));
    const auto marked = load(head + "}");  // The byte order mark is no part of the text.
    CHECK(marked.train->size() == 17);
    CHECK(tokens_of(*marked.train, 0) == Integers{'0'});
    CHECK(marked.digests != plain.digests);
    test::write_file(path, bytes("\xff\xfe"
                                 "0123456789abcdefghi"));
    CHECK_THAT(refusal([&] { load(head + "}"); }), ContainsSubstring("a.txt: is a text in UTF-16"));
    test::write_file(path, bytes("0123456789abcdefghi\xff"));

    test::write_file(folder / "empty.txt", {});
    CHECK_THAT(refusal([] { load(R"({"type": "text", "path": "empty.txt"})"); }),
               ContainsSubstring("empty.txt: is empty"));
    CHECK_THAT(refusal([] { load(R"({"type": "text", "path": "none.txt"})"); }),
               ContainsSubstring("/data/path: there is no file none.txt"));
    CHECK_THAT(refusal([&] { load(R"({"type": "text", "path": "a.txt", "sequence": 18})"); }),
               ContainsSubstring("holds 18 tokens"));
    CHECK_THAT(refusal([&] { load(R"({"type": "text", "path": "a.txt", "augment": true})"); }),
               ContainsSubstring("no images"));
}

TEST_CASE("wikitext2 names a damaged file") {
    const test::Folder folder;
    const auto spec = R"({"type": "wikitext2", "root": ")" + folder / "" + "\"}";
    CHECK_THAT(refusal([&] { load(spec); }),
               ContainsSubstring("/data/root: WikiText-2 was not found"));
    test::write_file(folder / "wikitext-2/wiki.train.tokens", bytes("a b"));
    CHECK_THAT(refusal([&] { load(spec); }),
               ContainsSubstring("wiki.train.tokens: is too short (found 3 bytes"));
    test::write_zeros(folder / "wikitext-2/wiki.train.tokens", 10797148);
    CHECK_THAT(refusal([&] { load(spec); }),
               ContainsSubstring("wiki.valid.tokens: cannot be read"));
}

TEST_CASE("wikitext2 has its published contents") {
    const char* root = std::getenv("DBENCH_DATA");
    if (root == nullptr || !std::filesystem::exists(std::string(root) + "/wikitext-2")) {
        WARN("skipped: no wikitext-2 in DBENCH_DATA");
        return;
    }
    const auto all = load(R"({"type": "wikitext2", "sequence": 35})");
    CHECK(all.train->classes() == 33278);
    CHECK(all.train->size() == 2088627 / 35);
    CHECK(all.validation->size() == 217645 / 35);
    CHECK(all.test->size() == 245568 / 35);
    const auto small = load(R"({"type": "wikitext2", "vocabulary": 10000,
                                "limit": {"train": 100, "test": 7000}})");
    CHECK(small.train->classes() == 10000);
    CHECK(small.train->size() == 100);
    CHECK(small.test->size() == 7000);
    CHECK(small.validation->size() == 217645 / 35);
    // Both cover the same text: a token is the number of the same word or of <unk>.
    CHECK(tokens_of(*small.train, 0) != Integers(35));
    CHECK_THAT(refusal([] { load(R"({"type": "wikitext2", "validation": 5})"); }),
               ContainsSubstring("a validation set of its own"));
}
