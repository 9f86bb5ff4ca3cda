// The route of neighbours' rows as messages: straight from the travelling rows into receive
// buffers. A row is sent once to a rank, however many replicas of that rank use it.

#include "comm/mixing/mixing_route.hpp"
#include "comm/mixing/travelling_rows.hpp"

namespace dbench::comm {
namespace {

class NeighboursByMessage : public MixingRoute {
public:
    NeighboursByMessage(const MixingContext& context, const TravellingRows& rows)
        : context_(context), travelling_(rows) {}

    bool start() override {
        const int64_t bytes = row_bytes();
        if (bytes == 0) return false;
        const MixingPlan& plan = *context_.plan;
        int64_t arriving = 0;
        for_each_sender([&](const RankRows& peer) { arriving += std::ssize(peer.rows); });
        received_ = context_.pool->take(arriving * bytes);
        std::vector<Message> out, in;
        for (size_t k = 0; k < plan.send.size(); ++k) {
            if (context_.routes.send[k] != RowRoute::message) continue;
            for (const int64_t row : plan.send[k].rows) {
                out.push_back({plan.send[k].rank, context_.tag, travelling_.at(row), bytes});
            }
        }
        char* arrives = received_.get();
        received_rows_.resize(static_cast<size_t>(plan.received_rows));
        for_each_sender([&](const RankRows& peer) {
            for (const int64_t index : peer.rows) {
                received_rows_[index] = arrives - context_.bytes_before();
                in.push_back({peer.rank, context_.tag, arrives, bytes});
                arrives += bytes;
            }
        });
        transfer_ = context_.start(out, in);
        return false;
    }

    bool moves() const override { return transfer_ != nullptr; }
    bool advance() override { return !transfer_ || transfer_->test(); }
    std::vector<int> awaited_ranks() const override {
        return transfer_ ? transfer_->awaited_ranks() : std::vector<int>{};
    }

    void locate_rows(std::vector<const char*>& rows) const override {
        for_each_sender([&](const RankRows& peer) {
            for (const int64_t index : peer.rows) rows[index] = received_rows_[index];
        });
    }

    void release() override {
        arena::keep(context_.place.compute(), std::move(received_));
        received_.reset();
    }

private:
    int64_t row_bytes() const { return context_.columns.count() * context_.travelling_size(); }

    /// Calls `work` for each rank whose rows arrive as messages.
    void for_each_sender(const auto& work) const {
        for (size_t k = 0; k < context_.plan->receive.size(); ++k) {
            if (context_.routes.receive[k] == RowRoute::message) work(context_.plan->receive[k]);
        }
    }

    const MixingContext& context_;
    const TravellingRows& travelling_;
    std::shared_ptr<char> received_;          // [rows that arrive, columns.count()]
    std::vector<const char*> received_rows_;  // by index: the received row, address of column 0
    std::unique_ptr<Transfer> transfer_;
};

}  // namespace

std::unique_ptr<MixingRoute> neighbours_by_message(const MixingContext& context,
                                                   const TravellingRows& rows) {
    return std::make_unique<NeighboursByMessage>(context, rows);
}

}  // namespace dbench::comm
