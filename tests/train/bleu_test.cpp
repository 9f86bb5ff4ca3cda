// BLEU compared with scores computed by hand, and the tokenizer of mteval-v13a.

#include "train/evaluation/bleu.hpp"

#include <cmath>

#include "catch.hpp"

using namespace dbench::train;
using Catch::Approx;
using Words = std::vector<std::string>;

namespace {

double bleu_of(std::string_view hypothesis, std::string_view reference) {
    return bleu(bleu_counts(hypothesis, reference));
}

}  // namespace

TEST_CASE("The tokens of a sentence are its words, punctuation and numbers") {
    CHECK(bleu_tokens("Hello, world!") == Words{"Hello", ",", "world", "!"});
    CHECK(bleu_tokens("3.50 or 1,000. It's a 20-year-old's (best) co-op") ==
          Words{"3.50", "or", "1,000", ".", "It's", "a", "20", "-", "year-old's", "(", "best", ")",
                "co-op"});
    CHECK(bleu_tokens("a &amp; b &quot;c&quot; d...") ==
          Words{"a", "&", "b", "\"", "c", "\"", "d", ".", ".", "."});
    CHECK(bleu_tokens("M\xc3\xa4nner.") == Words{"M\xc3\xa4nner", "."});
    CHECK(bleu_tokens("").empty());
    for (const char* blank : {"\t", "\x1c", "\x1f", "\xc2\x85", "\xc2\xa0", "\xe1\x9a\x80",
                              "\xe2\x80\x80", "\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9",
                              "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"}) {
        CHECK(bleu_tokens(std::string("10") + blank + "km") == Words{"10", "km"});
    }
    // U+200B is no blank.
    CHECK(bleu_tokens("a\xe2\x80\x8b"
                      "b") == Words{"a\xe2\x80\x8b"
                                    "b"});
}

TEST_CASE("BLEU equals scores computed by hand") {
    CHECK(bleu_of("the cat sat on the mat", "the cat sat on the mat") == Approx(100));
    // 5 of 6 words, 3 of 5 pairs, 2 of 4 triples, 1 of 3 quadruples.
    CHECK(bleu_of("the cat sat on a mat", "the cat sat on the mat") ==
          Approx(100 * std::pow(5.0 / 6 * 3 / 5 * 2 / 4 * 1 / 3, 0.25)));
    // All n-grams are right; only the brevity penalty counts.
    CHECK(bleu_of("the cat sat on", "the cat sat on the mat") == Approx(100 * std::exp(-0.5)));
    // A word counts at most as often as the reference contains it. If no n-gram of an order is
    // right, the first such order counts half a match and the next a quarter.
    CHECK(bleu_of("the the the the cat", "the cat is here now") ==
          Approx(100 * std::pow(2.0 / 5 * 1 / 4 * (1 / (2 * 3.0)) * (1 / (4 * 2.0)), 0.25)));
    CHECK(bleu_of("", "the cat") == 0);
    CHECK(bleu_of("a b c d e", "f g h i j") == 0);
    CHECK(bleu_of("a b c", "a b c") == 0);  // it has no 4-gram
}

TEST_CASE("The BLEU of a corpus adds up counts, not scores") {
    const BleuCounts good = bleu_counts("a b c d", "a b c d"),
                     bad = bleu_counts("w x y z", "a b c d");
    BleuCounts both = good;
    for (size_t k = 0; k < both.size(); ++k) both[k] += bad[k];
    CHECK(bleu(both) == Approx(50));
}
