#include "algorithms/step/timers.hpp"

#include <chrono>
#include <thread>

#include "arena/emulated_device.hpp"
#include "arena/emulated_streams.hpp"
#include "catch.hpp"

namespace dbench::algorithms {
namespace {

using arena::EmulatedDevice;

void sleep_milliseconds(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

void launch_sleep(arena::Queue& queue, int milliseconds) {
    queue.launch({"sleep", {}, 1, [=](int64_t, uint64_t) { sleep_milliseconds(milliseconds); }});
}

double sum_of_phases(const Times& times) {
    double sum = 0;
    for (const Time phase :
         {Time::data, Time::gradient, Time::update, Time::exchange, Time::control, Time::rest}) {
        sum += times[phase];
    }
    return sum;
}

/// Runs an iteration that launches work in one phase and in another phase inside it; waits for
/// neither.
void launch_iteration(Timers& timers, arena::Queue& queue) {
    timers.start();
    {
        const TimedScope gradient(timers, Time::gradient);
        launch_sleep(queue, 20);
        {
            const TimedScope exchange(timers, Time::exchange);
            launch_sleep(queue, 30);
        }
        launch_sleep(queue, 10);
    }
    { const TimedScope update(timers, Time::update); }
    timers.stop();
}

void check_iteration(const Times& times) {
    CHECK(times[Time::gradient] >= 0.030);
    CHECK(times[Time::exchange] >= 0.030);
    CHECK(times[Time::update] >= 0);
    CHECK(times[Time::step] >= 0.060);
    CHECK(times[Time::step] == Approx(sum_of_phases(times)).epsilon(1e-12));
}

TEST_CASE("Times of a device count the time that it runs, not the time of the launches") {
    EmulatedDevice device(1);
    arena::Queue& queue = device.add_queue();
    Timers timers(queue);
    launch_iteration(timers, queue);
    Times times = timers.all();
    for (const TimeColumn& column : kTimeColumns) CHECK(times[column.time] == 0);
    CHECK_THROWS(Times(times).receive_device_values());  // The device has run nothing yet.
    arena::finish(queue, "the test");
    times.receive_device_values();
    check_iteration(times);
    const double step = times[Time::step];
    times.receive_device_values();
    CHECK(times[Time::step] == step);
}

TEST_CASE("A device's queues over streams measure the time of their streams") {
    EmulatedDevice device(1);
    arena::EmulatedStreams streams(device);
    arena::StreamDevice over(streams);
    const auto queue = over.queue_on(streams.add_stream());
    Timers timers(*queue);
    launch_iteration(timers, *queue);
    arena::finish(*queue, "the test");  // Also waits for the timestamp that was recorded last.
    Times times = timers.all();
    times.receive_device_values();
    check_iteration(times);
}

TEST_CASE("A phase's time on a device includes the device's waiting") {
    EmulatedDevice device(1);
    arena::Queue& compute = device.add_queue();
    arena::Queue& other = device.add_queue();
    Timers timers(compute);
    timers.start();
    {
        const TimedScope exchange(timers, Time::exchange);
        arena::finish(compute, "the test");  // The phase has begun.
        launch_sleep(other, 25);
        arena::order(other, compute, "the exchange");
    }
    timers.stop();
    CHECK(timers.seconds(Time::exchange) >= 0.025);
    CHECK(timers.seconds(Time::update) == 0);
}

TEST_CASE("Shares of device times add up") {
    EmulatedDevice device(1);
    arena::Queue& queue = device.add_queue();
    Timers timers(queue);
    launch_iteration(timers, queue);
    Times one, quarter;
    one.add(timers.all(), 1);
    one[Time::delay] = 3;
    quarter.add(one, 0.25);
    arena::finish(queue, "the test");
    one.receive_device_values();
    quarter.receive_device_values();
    CHECK(quarter[Time::delay] == 0.75);
    CHECK(quarter[Time::step] == Approx(one[Time::step] / 4).epsilon(1e-12));
    CHECK(quarter[Time::gradient] == Approx(one[Time::gradient] / 4).epsilon(1e-12));
}

TEST_CASE("Times of the host are available at once") {
    Timers timers(arena::host_queue());
    timers.start();
    {
        const TimedScope data(timers, Time::data);
        sleep_milliseconds(5);
    }
    timers.stop();
    const Times times = timers.all();
    CHECK(timers.seconds(Time::data) >= 0.005);
    CHECK(times[Time::data] == timers.seconds(Time::data));
    CHECK(times[Time::step] == Approx(sum_of_phases(times)).epsilon(1e-12));
}

TEST_CASE("Waits and sums count while the exchange is the current phase") {
    comm::WaitTimes counted{1, 2, 5, 1};  // earlier iterations do not count
    Timers timers(arena::host_queue(), &counted);
    const auto wait = [&](double seconds, int rank) {
        counted.wait += seconds;
        counted.awaited_rank = rank;
        ++counted.attributed_waits;
    };
    timers.start();
    CHECK(timers.awaited_rank() == -1);
    {
        const TimedScope exchange(timers, Time::exchange);
        wait(0.5, 3);
        counted.mix += 0.25;
        {
            const TimedScope update(timers, Time::update);
            wait(8, 4);
        }
        counted.mix += 0.125;
    }
    {
        const TimedScope measure(timers, Time::profile);
        wait(16, 6);
    }
    timers.stop();
    CHECK(timers.all()[Time::wait] == 0.5);
    CHECK(timers.all()[Time::mix] == 0.375);
    CHECK(timers.awaited_rank() == 3);
    timers.start();
    timers.stop();
    CHECK(timers.all()[Time::wait] == 0);
    CHECK(timers.awaited_rank() == -1);
}

}  // namespace
}  // namespace dbench::algorithms
