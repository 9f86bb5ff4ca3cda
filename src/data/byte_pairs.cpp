#include "data/byte_pairs.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "data/vocabulary.hpp"

namespace dbench::data {
namespace {

bool in_word(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 128 || (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z');
}

/// Returns the units that are encoded independently: runs of letters and digits, and runs of other
/// characters; the first one of a word includes the blank before it.
std::vector<std::string> words_with_blanks(std::string_view line) {
    std::vector<std::string> out;
    for (const std::string_view word : blank_separated(line)) {
        out.emplace_back(" ");
        for (size_t k = 0; k < word.size(); ++k) {
            if (k > 0 && in_word(word[k]) != in_word(word[k - 1])) out.emplace_back();
            out.back() += word[k];
        }
    }
    return out;
}

std::vector<int32_t> byte_pairs_bytes_of(const std::string& word) {
    std::vector<int32_t> out;
    for (const char c : word) {
        out.push_back(BytePairs::kBytes + static_cast<unsigned char>(c));
    }
    return out;
}

uint64_t key(std::pair<int32_t, int32_t> pair) {
    return static_cast<uint64_t>(pair.first) << 32 | static_cast<uint32_t>(pair.second);
}

/// The pieces of words, as linked lists: a merge changes two neighbours and moves nothing. A place
/// is an index into all of them, and places of a word ascend from left to right.
class LinkedPieces {
public:
    static constexpr int64_t kNone = -1;  // No neighbour, or no piece.

    void add_word(const std::vector<int32_t>& pieces) {
        const auto first = std::ssize(pieces_), last = first + std::ssize(pieces) - 1;
        for (int64_t k = first; k <= last; ++k) {
            pieces_.push_back(pieces[static_cast<size_t>(k - first)]);
            previous_.push_back(k > first ? k - 1 : kNone);
            next_.push_back(k < last ? k + 1 : kNone);
        }
    }

    int64_t size() const { return std::ssize(pieces_); }
    int64_t next(int64_t place) const { return next_[place]; }
    int64_t previous(int64_t place) const { return previous_[place]; }
    int32_t piece(int64_t place) const { return pieces_[place]; }
    /// Returns true if `place` holds the left piece of such a pair.
    bool holds(int64_t place, BytePairs::Pair pair) const {
        return pieces_[place] == pair.first && next_[place] != kNone &&
               pieces_[next_[place]] == pair.second;
    }
    /// Replaces the piece at `place` and the one after it by `piece`.
    void merge(int64_t place, int32_t piece) {
        const int64_t right = next_[place];
        pieces_[place] = piece;
        pieces_[right] = static_cast<int32_t>(kNone);
        next_[place] = next_[right];
        if (next_[place] != kNone) previous_[next_[place]] = place;
    }

private:
    std::vector<int32_t> pieces_;
    std::vector<int64_t> previous_, next_;
};

}  // namespace

std::string normalised(std::string_view line) {
    std::string out;
    for (const std::string_view word : blank_separated(line)) {
        if (!out.empty()) out += ' ';
        out += word;
    }
    return out;
}

void BytePairs::add(Pair pair) {
    pieces_.emplace(key(pair), static_cast<int32_t>(size()));
    merges_.push_back(pair);
    texts_.push_back(texts_[pair.first] + texts_[pair.second]);
}

BytePairs::BytePairs(std::span<const Pair> merges) : texts_(kBytes) {
    for (int byte = 0; byte < 256; ++byte) texts_.emplace_back(1, static_cast<char>(byte));
    for (const Pair& pair : merges) add(pair);
}

std::string BytePairs::problem(std::span<const Pair> merges) {
    std::unordered_set<uint64_t> seen;
    int64_t piece = kMerged;
    for (const Pair& pair : merges) {
        const auto known = [&](int32_t part) { return part >= kBytes && part < piece; };
        const std::string made = "piece " + std::to_string(piece);
        if (!known(pair.first) || !known(pair.second)) {
            return made + " is made of pieces that are not earlier pieces";
        }
        if (!seen.insert(key(pair)).second) return made + " is made of the same pair as another";
        ++piece;
    }
    return "";
}

BytePairs BytePairs::first(int64_t size) const {
    DBENCH_EXPECT(size >= kMerged && size <= this->size());
    return BytePairs(std::span(merges_).first(static_cast<size_t>(size - kMerged)));
}

BytePairs::BytePairs(const std::vector<std::string>& lines, int64_t size)
    : BytePairs(std::span<const Pair>()) {
    std::unordered_map<std::string, int64_t> counted;
    for (const std::string& line : lines) {
        for (const std::string& word : words_with_blanks(line)) ++counted[word];
    }
    LinkedPieces words;
    std::vector<int64_t> times;  // How often the word of each place occurs.
    for (const auto& [word, count] : counted) {
        words.add_word(byte_pairs_bytes_of(word));
        times.resize(static_cast<size_t>(words.size()), count);
    }

    struct Occurrences {
        int64_t times = 0;
        std::vector<int64_t> places;  // Places that hold the pair, or held it.
    };
    std::unordered_map<uint64_t, Occurrences> pairs;
    struct Candidate {
        int64_t times;
        Pair pair;
        bool operator<(const Candidate& other) const {
            return times != other.times ? times < other.times : pair > other.pair;
        }
    };
    std::priority_queue<Candidate> candidates;  // May hold outdated counts.
    std::vector<Pair> changed;
    const auto more = [&](int64_t place) {
        const Pair pair{words.piece(place), words.piece(words.next(place))};
        Occurrences& of = pairs[key(pair)];
        of.times += times[place];
        of.places.push_back(place);
        changed.push_back(pair);
    };
    const auto fewer = [&](int64_t place) {
        const Pair pair{words.piece(place), words.piece(words.next(place))};
        pairs[key(pair)].times -= times[place];
        changed.push_back(pair);
    };
    const auto offer_changed = [&] {
        std::ranges::sort(changed);
        changed.erase(std::ranges::unique(changed).begin(), changed.end());
        for (const Pair& pair : changed) candidates.push({pairs[key(pair)].times, pair});
        changed.clear();
    };
    for (int64_t place = 0; place < words.size(); ++place) {
        if (words.next(place) != LinkedPieces::kNone) more(place);
    }
    offer_changed();
    while (this->size() < size && !candidates.empty()) {
        const Candidate best = candidates.top();
        candidates.pop();
        Occurrences& of = pairs[key(best.pair)];
        if (best.times != of.times) continue;
        if (best.times < 2) break;
        const auto piece = static_cast<int32_t>(this->size());
        add(best.pair);
        // In a run of equal pieces, occurrences overlap, and the leftmost one is merged first.
        std::vector<int64_t> places = std::exchange(of.places, {});
        std::ranges::sort(places);
        for (const int64_t place : places) {
            if (!words.holds(place, best.pair)) continue;
            const int64_t before = words.previous(place), after = words.next(words.next(place));
            if (before != LinkedPieces::kNone) fewer(before);
            if (after != LinkedPieces::kNone) fewer(words.next(place));
            words.merge(place, piece);
            if (before != LinkedPieces::kNone) more(before);
            if (after != LinkedPieces::kNone) more(place);
        }
        pairs[key(best.pair)].times = 0;
        offer_changed();
    }
}

std::vector<int32_t> BytePairs::encode_word(const std::string& word) const {
    LinkedPieces pieces;
    pieces.add_word(byte_pairs_bytes_of(word));
    struct Merge {
        int32_t piece;
        int64_t place;
        auto operator<=>(const Merge&) const = default;
    };
    // The earliest merge comes first, and of equal merges the leftmost one.
    std::priority_queue<Merge, std::vector<Merge>, std::greater<>> merges;
    const auto offer = [&](int64_t place) {
        if (place == LinkedPieces::kNone || pieces.next(place) == LinkedPieces::kNone) return;
        const auto at = pieces_.find(key({pieces.piece(place), pieces.piece(pieces.next(place))}));
        if (at != pieces_.end()) merges.push({at->second, place});
    };
    for (int64_t place = 0; place < pieces.size(); ++place) offer(place);
    while (!merges.empty()) {
        const auto [piece, place] = merges.top();
        merges.pop();
        if (!pieces.holds(place, merges_[static_cast<size_t>(piece - kMerged)])) continue;
        pieces.merge(place, piece);
        offer(pieces.previous(place));
        offer(place);
    }
    std::vector<int32_t> out;
    for (int64_t place = 0; place != LinkedPieces::kNone; place = pieces.next(place)) {
        out.push_back(pieces.piece(place));
    }
    return out;
}

std::vector<std::vector<int32_t>> BytePairs::encode(const std::vector<std::string>& lines) const {
    std::unordered_map<std::string, std::vector<int32_t>> known;
    std::vector<std::vector<int32_t>> out;
    for (const std::string& line : lines) {
        std::vector<int32_t>& pieces = out.emplace_back();
        for (const std::string& word : words_with_blanks(line)) {
            const auto [at, fresh] = known.try_emplace(word);
            if (fresh) at->second = encode_word(word);
            pieces.insert(pieces.end(), at->second.begin(), at->second.end());
        }
    }
    return out;
}

std::string BytePairs::decode(std::span<const int64_t> pieces) const {
    std::string out;
    for (const int64_t piece : pieces) {
        DBENCH_EXPECT(piece >= 0 && piece < size());
        out += texts_[static_cast<size_t>(piece)];
    }
    return out.starts_with(' ') ? out.substr(1) : out;
}

std::string BytePairs::text() const {
    std::string out;
    for (const auto& [left, right] : merges_) {
        out += std::to_string(left) + " " + std::to_string(right) + "\n";
    }
    return out;
}

}  // namespace dbench::data
