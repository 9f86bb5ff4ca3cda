// Pairs of sentences: byte pairs compared with their definition, buckets, and batches with padding.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "catch.hpp"
#include "data/byte_pairs.hpp"
#include "data/files.hpp"
#include "data/loader.hpp"
#include "data/piece_file.hpp"
#include "data/sentence_pairs.hpp"
#include "data/slice.hpp"
#include "data/support.hpp"

using namespace dbench;
using Catch::Matchers::ContainsSubstring;
using data::BytePairs;
using test::refusal;
using Lines = std::vector<std::string>;
using Tokens = std::vector<int64_t>;

namespace {

const Lines kText = {"the cat sat on the mat", "the cats sat, the mats sat: aaaaa aaa",
                     "  a\tcat's hat  costs 3.50 (three fifty) \xc3\xa4\xc3\xb6\xc3\xa4 "};

/// Learns merges by counting all pairs of all words again for each merge; words are split by hand.
std::vector<std::pair<int64_t, int64_t>> merges_by_definition(std::vector<Tokens> words,
                                                              int64_t count) {
    std::vector<std::pair<int64_t, int64_t>> merges;
    for (int64_t piece = BytePairs::kMerged; count-- > 0; ++piece) {
        std::map<std::pair<int64_t, int64_t>, int64_t> times;
        for (const Tokens& word : words) {
            for (size_t k = 0; k + 1 < word.size(); ++k) ++times[{word[k], word[k + 1]}];
        }
        // max_element returns the first of equal ones, which is the smallest pair.
        const auto best =
            std::max_element(times.begin(), times.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
        merges.push_back(best->first);
        for (Tokens& word : words) {
            Tokens merged;
            for (size_t k = 0; k < word.size(); ++k) {
                const bool here =
                    k + 1 < word.size() && std::pair{word[k], word[k + 1]} == best->first;
                merged.push_back(here ? piece : word[k]);
                k += here;
            }
            word = merged;
        }
    }
    return merges;
}

std::string text_of(const std::vector<std::pair<int64_t, int64_t>>& merges) {
    std::string out;
    for (const auto& [left, right] : merges) {
        out += std::to_string(left) + " " + std::to_string(right) + "\n";
    }
    return out;
}

std::vector<Tokens> bytes_of(const Lines& words) {
    std::vector<Tokens> out;
    for (const std::string& word : words) {
        Tokens& bytes = out.emplace_back();
        for (const char c : word) bytes.push_back(BytePairs::kBytes + static_cast<uint8_t>(c));
    }
    return out;
}

/// Returns sentences of the given numbers of letters; each letter is a piece.
std::shared_ptr<const data::Dataset> letters(const std::vector<std::pair<int, int>>& lengths) {
    Lines sources, targets;
    for (const auto& [source, target] : lengths) {
        for (auto [side, length] : {std::pair{&sources, source}, {&targets, target}}) {
            std::string& line = side->emplace_back();
            for (int k = 0; k + 1 < length; ++k) line += static_cast<char>('a' + k);
        }
    }
    const auto bytes = std::make_shared<BytePairs>(Lines{}, BytePairs::kMerged);
    return data::sentence_pairs(sources, targets, bytes);
}

Tokens piece(const std::string& text) {
    Tokens out;
    for (const char c : text) out.push_back(BytePairs::kBytes + static_cast<uint8_t>(c));
    return out;
}

}  // namespace

TEST_CASE("byte pairs follow their definition, and ties are broken by piece numbers") {
    const Lines lines = {"ab ab, abc bcbcb aaaa", "bc abab"};
    const auto words = bytes_of({" ab", " ab", ",", " abc", " bcbcb", " aaaa", " bc", " abab"});
    const BytePairs pieces(lines, BytePairs::kMerged + 5);
    CHECK(pieces.size() == BytePairs::kMerged + 5);
    CHECK(pieces.text() == text_of(merges_by_definition(words, 5)));
    // Learning ends when no pair occurs twice.
    CHECK(BytePairs({"abc"}, 1000).size() == BytePairs::kMerged);
    CHECK(BytePairs({"abc xbc"}, 1000).text() ==
          text_of({{BytePairs::kBytes + 'b', BytePairs::kBytes + 'c'}}));
}

TEST_CASE("runs of equal letters and random words are merged as defined") {
    std::string random;
    for (unsigned k = 0, state = 1; k < 400; ++k) {
        state = state * 1664525 + 1013904223;
        random += static_cast<char>('a' + (state >> 28) % 3);
    }
    const Lines lines = {random, "aaaaaaa aaaa aaaaaaaaaaab", random.substr(100, 150) + "aaaaa"};
    const auto words = bytes_of({" " + random, " aaaaaaa", " aaaa", " aaaaaaaaaaab",
                                 " " + random.substr(100, 150) + "aaaaa"});
    const BytePairs pieces(lines, BytePairs::kMerged + 60);
    CHECK(pieces.text() == text_of(merges_by_definition(words, 60)));
    // Encoding applies the merges in order, each from the left.
    for (size_t k = 0; k < 3; ++k) {
        Tokens expected = piece(" " + (k == 0 ? random : k == 1 ? "aaaaaaaaa" : "abcabcaaab"));
        const auto merges = merges_by_definition(words, 60);
        for (size_t m = 0; m < merges.size(); ++m) {
            Tokens merged;
            for (size_t at = 0; at < expected.size(); ++at) {
                const bool here = at + 1 < expected.size() &&
                                  std::pair{expected[at], expected[at + 1]} == merges[m];
                merged.push_back(here ? BytePairs::kMerged + static_cast<int64_t>(m)
                                      : expected[at]);
                at += here;
            }
            expected = merged;
        }
        const Lines line = {k == 0 ? random : k == 1 ? "aaaaaaaaa" : "abcabcaaab"};
        const auto found = pieces.encode(line).at(0);
        CHECK(Tokens(found.begin(), found.end()) == expected);
    }
}

TEST_CASE("a word of 200,000 letters is learnt and encoded in seconds") {
    std::string word;
    for (unsigned k = 0, state = 7; k < 200000; ++k) {
        state = state * 1664525 + 1013904223;
        word += static_cast<char>('a' + (state >> 24) % 26);
    }
    const auto start = std::chrono::steady_clock::now();
    const BytePairs pieces({word}, 4000);
    CHECK(pieces.size() == 4000);
    const auto encoded = pieces.encode({word}).at(0);
    CHECK(pieces.decode(Tokens(encoded.begin(), encoded.end())) == word);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    CHECK(spent.count() < 20);  // A quadratic algorithm takes minutes.
}

TEST_CASE("a byte order mark is no part of a text, and UTF-16 is named") {
    const test::Folder folder;
    const auto with = [&](const std::string& mark) {
        std::ofstream(folder / "a") << mark << "the cat\nthe mat\nthe hat\n";
        std::ofstream(folder / "b") << mark << "THE CAT\nTHE MAT\nTHE HAT\n";
        const std::string spec = R"({"type": "pairs", "vocabulary": 270, "source": ")" +
                                 folder / "a" + R"(", "target": ")" + folder / "b" + "\"}";
        return data::load_data(test::data_spec(spec), {1, 1}).digests.back();
    };
    CHECK(with("\xef\xbb\xbf") == with(""));  // The digests of the byte pairs.
    CHECK_THAT(refusal([&] { with("\xff\xfe"); }), ContainsSubstring("a: is a text in UTF-16"));
    const BytePairs pieces(kText, 300);
    data::write_pieces(pieces, folder / "pieces");
    std::ifstream in(folder / "pieces");
    const std::string whole((std::istreambuf_iterator<char>(in)), {});
    std::ofstream(folder / "marked") << "\xef\xbb\xbf" << whole;
    CHECK(data::holds_pieces(folder / "marked"));
    CHECK(data::read_pieces(folder / "marked").text() == pieces.text());
}

TEST_CASE("decoding returns the text except for repeated blanks") {
    const BytePairs pieces(kText, 300);
    Lines others = kText;
    others.insert(others.end(), {"", "   ", "never, seen: \x01\xff \xe2\x82\xac", "a  b", "..."});
    const auto encoded = pieces.encode(others);
    for (size_t k = 0; k < others.size(); ++k) {
        const Tokens tokens(encoded[k].begin(), encoded[k].end());
        CHECK(pieces.decode(tokens) == data::normalised(others[k]));
        CHECK(std::ranges::all_of(
            tokens, [&](int64_t t) { return t >= BytePairs::kBytes && t < pieces.size(); }));
    }
    CHECK(data::normalised("  a\tb  c ") == "a b c");
    CHECK(encoded[0].size() < kText[0].size() / 2);
    CHECK(pieces.decode(Tokens{data::kBeginToken, data::kEndToken, data::kPadToken}).empty());
}

TEST_CASE("a file of pieces returns the learnt pieces, and a damaged file is refused") {
    const test::Folder folder;
    const std::string path = folder / "pieces.txt";
    const BytePairs pieces(kText, BytePairs::kMerged + 20);
    data::write_pieces(pieces, path);
    CHECK(data::holds_pieces(path));
    CHECK_THAT(refusal([&] { data::holds_pieces(path + "?"); }), ContainsSubstring("No such file"));
    CHECK(data::read_pieces(path).text() == pieces.text());
    // The first pieces of a file are those that are learnt for this smaller size.
    const BytePairs few(kText, BytePairs::kMerged + 7), first = data::read_pieces(path).first(266);
    CHECK(first.text() == few.text());
    CHECK(first.encode(kText) == few.encode(kText));
    const BytePairs bytes(kText, BytePairs::kMerged);
    data::write_pieces(bytes, path + "0");
    CHECK(data::read_pieces(path + "0").size() == BytePairs::kMerged);

    std::ifstream in(path);
    const std::string whole((std::istreambuf_iterator<char>(in)), {});
    const size_t head = whole.find('\n') + 1;
    const auto refused = [&](const std::string& contents) {
        std::ofstream(path) << contents;
        return refusal([&] { data::read_pieces(path); });
    };
    const auto with = [](const std::string& merges, int count) {  // A matching first line.
        return "dbench byte pairs, " + std::to_string(BytePairs::kMerged + count) + " pieces, " +
               data::digest(merges) + "\n" + merges;
    };
    CHECK(refused(with("100 101\n259 102\n", 2)).empty());
    using Damaged = std::pair<std::string, std::string>;
    for (const auto& [contents, said] :
         {Damaged{"", "is not a file of byte pairs"},
          {"100 101\n", "is not a file of byte pairs"},
          {whole.substr(0, head - 1), "is damaged"},
          {whole.substr(0, whole.size() - 1), "damaged"},
          {whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1), "does not match"},
          {whole + "3 4\n", "does not match"},
          {whole + "x\n", "not a pair of numbers: x"},
          {whole + "3 4 5\n", "not a pair of numbers: 3 4 5"},
          {with("100 259\n", 1), "piece 259 is made of pieces that are not earlier pieces"},
          {with("100 101\n2 100\n", 2), "piece 260 is made of pieces that are not earlier"},
          {with("100 101\n100 101\n", 2), "piece 260 is made of the same pair"}}) {
        CAPTURE(contents);
        const std::string refusal = refused(contents);
        CHECK_THAT(refusal, ContainsSubstring(path + ": "));
        CHECK_THAT(refusal, ContainsSubstring(said));
        CHECK_THAT(refusal, ContainsSubstring("dbench data pieces"));
    }
    std::filesystem::remove(path);
    CHECK_THAT(refusal([&] { data::read_pieces(path); }), ContainsSubstring("pieces.txt"));
}

TEST_CASE("a batch of pairs is padded to its longest sentence") {
    const auto set = letters({{3, 2}, {2, 4}});  // Plus kEndToken.
    data::PlainBatches plain(arena::DType::float32, data::Order::contiguous);
    const data::Batch& batch = plain.fill(*set, 0, 2);
    CHECK(batch.shape == Tokens{2, 2, 5});  // The blank of a word is a piece, too.
    CHECK(batch.terms == data::terms(*set));
    CHECK(batch.row_terms == Tokens{3, 5});
    const auto* inputs = static_cast<const int64_t*>(batch.inputs);
    Tokens expected = piece(" ab");
    expected.insert(expected.end(), {data::kEndToken, data::kPadToken, data::kBeginToken});
    for (const int64_t token : piece(" a")) expected.push_back(token);
    expected.insert(expected.end(), {data::kPadToken, data::kPadToken});
    CHECK(Tokens(inputs, inputs + 10) == expected);
    Tokens labels = piece(" a");
    labels.push_back(data::kEndToken);
    for (const int64_t token : piece(" abc")) labels.push_back(token);
    labels.push_back(data::kEndToken);
    CHECK(Tokens(batch.labels, batch.labels + batch.terms) == labels);
    CHECK(set->text(Tokens(batch.labels, batch.labels + 3)) == "a");

    const data::Batch second = data::microbatch(batch, 1, 2);
    CHECK(second.count == 1);
    CHECK(second.terms == 5);
    CHECK(second.row_terms == Tokens{5});
    CHECK(second.labels == batch.labels + 3);
    CHECK(second.inputs == inputs + 10);
    CHECK(data::microbatch(batch, 0, 4).count == 0);
}

TEST_CASE("buckets contain every pair once, sorted, and as many pairs as the tokens allow") {
    std::vector<std::pair<int, int>> lengths;
    for (int k = 0; k < 60; ++k) lengths.emplace_back(2 + k * 7 % 13, 2 + k * 5 % 11);
    const auto pairs = letters(lengths);
    constexpr int64_t kTokens = 40;
    const auto set = data::bucketed(pairs, kTokens);
    std::multiset<Tokens> expected, found;
    const auto collect = [](const data::Dataset& of, int64_t index, std::multiset<Tokens>& out) {
        const data::Extent e = of.extent(index);
        Tokens inputs(static_cast<size_t>(2 * e.rows * e.length)), labels(e.terms), terms(e.rows);
        of.pairs(index, e.length, inputs.data(), labels.data(), terms.data());
        CHECK(std::accumulate(terms.begin(), terms.end(), int64_t{0}) == e.terms);
        for (int64_t row = 0; row < e.rows; ++row) {
            Tokens pair(inputs.begin() + 2 * row * e.length,
                        inputs.begin() + 2 * (row + 1) * e.length);
            std::erase(pair, data::kPadToken);
            out.insert(pair);
        }
    };
    for (int64_t k = 0; k < pairs->size(); ++k) collect(*pairs, k, expected);
    int64_t before = 0;
    for (int64_t k = 0; k < set->size(); ++k) {
        const data::Extent e = set->extent(k);
        CHECK(e.rows * e.length <= kTokens);
        CHECK(e.length >= before);
        before = e.length;
        collect(*set, k, found);
        if (k + 1 < set->size()) {  // The shortest pair of the next bucket did not fit.
            CHECK((e.rows + 1) * set->extent(k + 1).length > kTokens);
        }
    }
    CHECK(found == expected);
    CHECK(data::terms(*set) == data::terms(*pairs));
    CHECK_THAT(refusal([&] { data::bucketed(pairs, 10); }),
               ContainsSubstring("/data/batch_size/tokens: 10 is less than the"));
    CHECK(data::terms(*data::slice(pairs, 2, 1)) == pairs->extent(2).terms);
}
