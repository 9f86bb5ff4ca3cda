// How an exchange ends: what has come, where it is, and what is made of it.

#include <utility>

#include "arena/kernels.hpp"
#include "comm/exchange/operation.hpp"

namespace dbench::comm {

void Operation::finish(arena::Rows out, Result result, const std::vector<arena::Columns>& pieces,
                       const Then& then) {
    DBENCH_EXPECT(!host() || options_.in_place || out.data != x_.data);
    finished_ = true;
    if (ordered() && moves()) {
        options_.queues.compute->wait(moved_, "rows that have come");
    }
    if (columns_.count() > 0) {
        for (GroupMean& group : groups_) group.arrive(options_.queues.compute);
        find_rows();
        coded() && !options_.in_place ? finish_coded(out, result, pieces, then)
                                      : finish_whole(out, result, pieces, then);
    }
    if (host()) host()->read();
    let_go();
}

bool Operation::finish(const Exchange::UseTerms& use) {
    if (columns_.count() == 0) return false;
    find_rows();
    const auto all = sources();
    if (all.empty() || !use(all)) return false;
    finished_ = true;
    if (host()) host()->read();
    let_go();
    return true;
}

/// Who keeps the token, to reclaim the rows, keeps no memory with it; what has been launched does.
void Operation::let_go() {
    if (arena::Queue* const queue = options_.queues.compute) {
        arena::keep(queue, std::make_shared<std::vector<GroupMean>>(std::move(groups_)));
        arena::keep(queue, staged_);
        arena::keep(queue, received_);
        arena::keep(queue, sent_);
        arena::keep(queue, local_sum_);
    }
    groups_.clear();
    staged_.reset();
    received_.reset();
    sent_.reset();
    local_sum_.reset();
}

/// Rows that are read in place, now that they are there.
void Operation::find_rows() {
    for (const Parcel& parcel : plan_->receive) {
        if (!host() || !host()->with(parcel.rank)) continue;
        for (const int64_t slot : parcel.rows) {
            slots_[slot] = host()->row(parcel.rank, plan_->slot_rows[slot]) - before();
        }
    }
}

void Operation::finish_whole(arena::Rows out, Result result,
                             const std::vector<arena::Columns>& pieces, const Then& then) {
    const auto sums = result == Result::change ? changes(out) : terms(out);
    arena::Queue* const queue = options_.queues.compute;
    for (const arena::Columns piece : pieces) {
        for (const GroupPlan& group : plan_->groups) {
            if (group.local()) {
                mean_of_rows(group, local_rows(group), piece, out, options_.codec, queue,
                             queue ? pool_.get() : nullptr);
            } else if (on_host(group) && !in_chunks(group)) {
                mean_of_rows(group, host()->rows_of(group, before()), piece, out, options_.codec);
            }
        }
        for (const GroupMean& group : groups_) group.copy_to(out, piece, queue);
        for (const HostMean& group : host_groups_) group.copy_to(out, piece);
        if (result == Result::change) {
            arena::weighted_changes(sums, out, piece, queue);
        } else if (plan_->has_terms) {
            arena::weighted_means(sums, out, piece, queue);
        }
        if (then) then(piece);
    }
}

void Operation::finish_coded(arena::Rows out, Result result,
                             const std::vector<arena::Columns>& pieces, const Then& then) {
    const auto as_words = [](const std::vector<const char*>& rows) {
        std::vector<const uint16_t*> words;
        for (const char* row : rows) words.push_back(reinterpret_cast<const uint16_t*>(row));
        return words;
    };
    CodedMixing mixing(*plan_,
                       {options_.codec, x_, as_words(words_), as_words(slots_), coded_groups()},
                       *pool_, options_.queues.compute);
    for (const arena::Columns piece : pieces) {
        mixing.mix(out, piece, result == Result::change);
        if (then) then(piece);
    }
}

std::vector<CodedGroup> Operation::coded_groups() const {
    std::vector<CodedGroup> groups;
    auto chunked = host_groups_.begin();  // both in the order of the plan
    auto spanning = groups_.begin();
    for (const GroupPlan& group : plan_->groups) {
        CodedGroup coded;
        if (group.local()) {
            for (const void* row : local_rows(group)) coded.rows.push_back({nullptr, row});
        } else if (in_chunks(group)) {
            coded.mean = [mean = chunked++](char* to, arena::Columns columns) {
                mean->copy_to(to, columns);
            };
        } else if (on_host(group)) {
            for (const void* row : host()->rows_of(group, before())) {
                coded.rows.push_back({static_cast<const uint16_t*>(row), nullptr});
            }
        } else {
            coded.made = static_cast<const char*>((spanning++)->result());
        }
        groups.push_back(std::move(coded));
    }
    return groups;
}

std::vector<std::vector<arena::Term>> Operation::changes(arena::Rows out) const {
    std::vector<std::vector<arena::Term>> changes = terms(out);
    for (size_t row = 0; row < changes.size(); ++row) {
        const void* const own = home_.at(static_cast<int64_t>(row), 0);
        if (changes[row].empty() || changes[row][0].row != own) {  // without a weight
            changes[row].insert(changes[row].begin(), {own, 0.0});
        }
    }
    return changes;
}

std::vector<std::vector<arena::Term>> Operation::terms() const {
    std::vector<std::vector<arena::Term>> terms(plan_->terms.size());
    for (size_t row = 0; row < terms.size(); ++row) {
        for (const Source& source : plan_->terms[row]) {
            terms[row].push_back(
                {source.received ? slots_[source.index] : home_.at(source.index, 0),
                 source.weight});
        }
    }
    return terms;
}

std::vector<std::vector<arena::Term>> Operation::terms(arena::Rows out) const {
    std::vector<std::vector<arena::Term>> all = terms();
    // Rows of a group hold their mean by now, and keep it. One call for all rows all the same: in
    // place, a second one would read what the first has written.
    for (const GroupPlan& group : plan_->groups) {
        for (const int64_t row : group.rows) all[row] = {{out.at(row, 0), 1.0}};
    }
    return all;
}

std::vector<std::vector<arena::Term>> Operation::sources() const {
    std::vector<std::vector<arena::Term>> all = terms();
    auto spanning = groups_.begin();
    for (const GroupPlan& group : plan_->groups) {
        std::vector<arena::Term> mean;
        if (!group.local() && !on_host(group)) {
            mean = {{(spanning++)->result(), 1.0}};
        } else if (group.members == 2 && !in_chunks(group)) {  // (a + b) / 2 is a + (b - a) / 2
            const auto rows = group.local() ? local_rows(group) : host()->rows_of(group, before());
            for (const void* row : rows) mean.push_back({row, 0.5});
        } else {
            return {};
        }
        for (const int64_t row : group.rows) all[row] = mean;
    }
    return all;
}

}  // namespace dbench::comm
