// What of a card only a card can show; skipped where there is none.

#include <torch/torch.h>

#include "arena/device/queue.hpp"
#include "catch.hpp"
#include "train/device/cuda_device.hpp"
#include "train/device/gpu_facts.hpp"
#include "train/tensors.hpp"

namespace dbench::train {
namespace {

TEST_CASE("on a card a queue begins behind the part of a captured pass that it is to wait for") {
    if (card_count() == 0) {
        WARN("skipped: no CUDA device");
        return;
    }
    const std::unique_ptr<Device> card = make_card(0);
    const auto options = torch::TensorOptions(torch::kFloat32).device(place_of(*card));
    constexpr int64_t kSize = 2048;
    constexpr int kProducts = 50;
    torch::Tensor x, y, z, rest, identity;
    const auto all = [] { return std::vector<arena::Access>(); };
    const auto through = [&](torch::Tensor from, const torch::Tensor& to) {
        for (int k = 0; k < kProducts; ++k) from = from.matmul(identity);
        torch::Tensor(to).copy_(from);
    };
    card->put("tensors, and a product that is no capture's first", all, [&] {
        identity = torch::eye(kSize, options);
        x = torch::zeros({kSize, kSize}, options);
        y = torch::zeros_like(x);
        z = torch::zeros_like(x);
        rest = torch::zeros_like(x);
        through(x, y);
    });
    const auto pass = card->capture("pass", {{}, {}}, [&](const Device::PartEnds& ends) {
        const torch::NoGradGuard no_grad;
        through(x, y);
        ends();
        through(y, rest);
        ends();
    });
    arena::StepQueue& step = *card->step_queue();
    for (int value = 1; value < 6; ++value) {
        INFO(value);
        card->put("value", all, [&] { x.fill_(value); });
        pass->put();
        pass->order(0, step.side());
        {
            const arena::StepQueue::Aside aside(step);
            card->put("first part", all, [&] { z.copy_(y); });
        }
        arena::finish(&step, "both parts");
        CHECK(z.eq(value).all().item<bool>());
        CHECK(rest.eq(value).all().item<bool>());
    }
}

}  // namespace
}  // namespace dbench::train
