// Finishes one exchange: finds the rows that have arrived or are read in place, and computes the
// result from them.

#include <utility>

#include "arena/kernels.hpp"
#include "comm/exchange/mixing_operation.hpp"

namespace dbench::comm {

void MixingOperation::finish(arena::Rows out, Result result,
                             const std::vector<arena::Columns>& pieces, const Then& then) {
    DBENCH_EXPECT(!in_place() || options_.mean_into_x || out.data != x_.data);
    finished_ = true;
    if (ordered() && moves()) {
        options_.place.compute().wait(moved_, "rows that have come");
    }
    if (columns_.count() > 0) {
        for (GroupMean& group : groups_) group.decode_result(options_.place.compute());
        locate_rows_in_place();
        coded() && !options_.mean_into_x ? finish_coded(out, result, pieces, then)
                                         : finish_uncoded(out, result, pieces, then);
    }
    if (in_place()) in_place()->mark_read();
    release_scratch();
}

bool MixingOperation::finish(const Exchange::UseTerms& use) {
    if (columns_.count() == 0) return false;
    locate_rows_in_place();
    const auto all = all_terms();
    if (all.empty() || !use(all)) return false;
    finished_ = true;
    if (in_place()) in_place()->mark_read();
    release_scratch();
    return true;
}

void MixingOperation::release_scratch() {
    if (arena::Queue& queue = options_.place.compute(); !queue.immediate()) {
        queue.keep(std::make_shared<std::vector<GroupMean>>(std::move(groups_)));
        queue.keep(staged_);
        queue.keep(received_);
        queue.keep(sent_);
        queue.keep(local_sum_);
    }
    groups_.clear();
    staged_.reset();
    received_.reset();
    sent_.reset();
    local_sum_.reset();
}

void MixingOperation::locate_rows_in_place() {
    for (const RankRows& peer : plan_->receive) {
        if (!in_place() || !in_place()->covers_rank(peer.rank)) continue;
        for (const int64_t slot : peer.rows) {
            slots_[slot] = in_place()->row(peer.rank, plan_->slot_rows[slot]) - bytes_before();
        }
    }
}

void MixingOperation::finish_uncoded(arena::Rows out, Result result,
                                     const std::vector<arena::Columns>& pieces, const Then& then) {
    const auto sums = result == Result::change ? change_terms(out) : terms(out);
    arena::Queue& queue = options_.place.compute();
    for (const arena::Columns piece : pieces) {
        for (const GroupPlan& group : plan_->groups) {
            if (group.local()) {
                mean_of_rows(group, local_rows(group), piece, out, options_.codec, queue, *pool_);
            } else if (read_in_place(group) && !averaged_in_chunks(group)) {
                mean_of_rows(group, in_place()->rows_of(group, bytes_before()), piece, out,
                             options_.codec, arena::host_queue(), *pool_);
            }
        }
        for (const GroupMean& group : groups_) group.copy_to(out, piece, queue);
        for (const InPlaceGroupMean& group : in_place_groups_) group.copy_to(out, piece);
        if (result == Result::change) {
            arena::weighted_changes(sums, out, piece, queue);
        } else if (plan_->has_terms) {
            arena::weighted_means(sums, out, piece, queue);
        }
        if (then) then(piece);
    }
}

void MixingOperation::finish_coded(arena::Rows out, Result result,
                                   const std::vector<arena::Columns>& pieces, const Then& then) {
    const auto as_words = [](const std::vector<const char*>& rows) {
        std::vector<const uint16_t*> words;
        for (const char* row : rows) words.push_back(reinterpret_cast<const uint16_t*>(row));
        return words;
    };
    CodedMixing mixing(*plan_,
                       {options_.codec, x_, as_words(words_), as_words(slots_), coded_groups()},
                       *pool_, options_.place.compute());
    for (const arena::Columns piece : pieces) {
        mixing.mix(out, piece, result == Result::change);
        if (then) then(piece);
    }
}

std::vector<CodedGroup> MixingOperation::coded_groups() const {
    std::vector<CodedGroup> groups;
    auto chunked = in_place_groups_.begin();  // both lists are in the order of the plan
    auto spanning = groups_.begin();
    for (const GroupPlan& group : plan_->groups) {
        CodedGroup coded;
        if (group.local()) {
            for (const void* row : local_rows(group)) coded.rows.push_back({nullptr, row});
        } else if (averaged_in_chunks(group)) {
            coded.write_mean = [mean = chunked++](char* to, arena::Columns columns) {
                mean->copy_to(to, columns);
            };
        } else if (read_in_place(group)) {
            for (const void* row : in_place()->rows_of(group, bytes_before())) {
                coded.rows.push_back({static_cast<const uint16_t*>(row), nullptr});
            }
        } else {
            coded.computed = static_cast<const char*>((spanning++)->result());
        }
        groups.push_back(std::move(coded));
    }
    return groups;
}

std::vector<std::vector<arena::Term>> MixingOperation::change_terms(arena::Rows out) const {
    std::vector<std::vector<arena::Term>> change_terms = terms(out);
    for (size_t row = 0; row < change_terms.size(); ++row) {
        const void* const own = input_.at(static_cast<int64_t>(row), 0);
        // W gives the row itself no weight.
        if (change_terms[row].empty() || change_terms[row][0].row != own) {
            change_terms[row].insert(change_terms[row].begin(), {own, 0.0});
        }
    }
    return change_terms;
}

std::vector<std::vector<arena::Term>> MixingOperation::terms() const {
    std::vector<std::vector<arena::Term>> terms(plan_->terms.size());
    for (size_t row = 0; row < terms.size(); ++row) {
        for (const Source& source : plan_->terms[row]) {
            terms[row].push_back(
                {source.received ? slots_[source.index] : input_.at(source.index, 0),
                 source.weight});
        }
    }
    return terms;
}

std::vector<std::vector<arena::Term>> MixingOperation::terms(arena::Rows out) const {
    std::vector<std::vector<arena::Term>> all = terms();
    // Rows of a group already hold the mean and keep it. All rows are nevertheless passed in one
    // call: if `out` is x, a second call would read what the first has written.
    for (const GroupPlan& group : plan_->groups) {
        for (const int64_t row : group.rows) all[row] = {{out.at(row, 0), 1.0}};
    }
    return all;
}

std::vector<std::vector<arena::Term>> MixingOperation::all_terms() const {
    std::vector<std::vector<arena::Term>> all = terms();
    auto spanning = groups_.begin();
    for (const GroupPlan& group : plan_->groups) {
        std::vector<arena::Term> mean;
        if (!group.local() && !read_in_place(group)) {
            mean = {{(spanning++)->result(), 1.0}};
        } else if (group.members == 2 &&
                   !averaged_in_chunks(group)) {  // (a + b) / 2 is a + (b - a) / 2
            const auto rows =
                group.local() ? local_rows(group) : in_place()->rows_of(group, bytes_before());
            for (const void* row : rows) mean.push_back({row, 0.5});
        } else {
            return {};
        }
        for (const int64_t row : group.rows) all[row] = mean;
    }
    return all;
}

}  // namespace dbench::comm
